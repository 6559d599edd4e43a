// How a session begins: dialling without blocking the shard, and its settings.
#include "rt/lane.hpp"
#include "sql/postgres/pg_connection.hpp"
#include "sql/postgres/pg_error.hpp"

namespace drom::sql {
namespace {

// Arrays for PQconnectStartParams; the strings stay in the options.
struct Parameters {
  std::vector<const char*> keywords;
  std::vector<const char*> values;

  explicit Parameters(const PostgresOptions& options) {
    // Later ones win. What we prefer comes first, then the url, then what was given one by one.
    add("application_name", "drom");
    add("keepalives_idle", "30");
    add("keepalives_interval", "10");
    add("tcp_user_timeout", "60000");
    add("gssencmode", "disable");  // trying Kerberos costs a look at files and names
    if (!options.url.empty()) add("dbname", options.url.c_str());
    for (const auto& [keyword, value] : options.keywords) add(keyword.c_str(), value.c_str());
    add("client_encoding", "UTF8");
    add(nullptr, nullptr);
  }
  void add(const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  }
};

}  // namespace

void PgConnection::on_notice(void* self, const PGresult* notice) {
  auto& connection = *static_cast<PgConnection*>(self);
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY);
  const char* text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  connection.log_.debug("sql", "'" + connection.options_.name + "': server says " +
                                   std::string(severity ? severity : "NOTICE") + ": " +
                                   (text ? text : ""));
}

async<Result<std::unique_ptr<PgConnection>>> PgConnection::connect(const PostgresOptions& options,
                                                                   boost::asio::io_context& io,
                                                                   Lane& lane, Clock& real_clock,
                                                                   Log& log) {
  std::unique_ptr<PgConnection> self(new PgConnection(options, io, log));
  Result<void> ready = co_await self->dial(lane, real_clock);
  if (!ready) co_return ready.error();
  ready = co_await self->set_up();
  if (!ready) co_return ready.error();
  co_return std::move(self);
}

async<Result<PgHandle>> pg_dial(const PostgresOptions& options, FdWatcher& watcher, Lane& lane,
                                Clock& real_clock) {
  const std::string what = "cannot connect to PostgreSQL";
  const SteadyTime deadline = real_clock.steady() + options.connect_timeout;
  const Parameters parameters(options);
  // Resolves the first host, which may take its time.
  const auto start = [&parameters] {
    return PQconnectStartParams(parameters.keywords.data(), parameters.values.data(), 1);
  };
  PGconn* const started = co_await lane.call(start);
  PgHandle handle(started);
  if (!handle) co_return Error(ErrorKind::transient, what + ": out of memory");

  PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
  while (true) {
    if (PQstatus(handle.get()) == CONNECTION_BAD) wanted = PGRES_POLLING_FAILED;
    if (wanted == PGRES_POLLING_OK) break;
    if (wanted == PGRES_POLLING_FAILED)
      co_return pg_not_connected(what, PQerrorMessage(handle.get()), options.password);
    const auto left = std::chrono::ceil<milliseconds>(deadline - real_clock.steady());
    FdWatcher::Event event = FdWatcher::Event::timeout;
    if (left.count() > 0) {
      // The socket may be another one after each step (several hosts, a refused TLS offer).
      watcher.assign(PQsocket(handle.get()));
      const auto interest =
          wanted == PGRES_POLLING_READING ? FdWatcher::Interest::read : FdWatcher::Interest::write;
      event = co_await watcher.wait(interest, left);
      watcher.forget();
    }
    if (event == FdWatcher::Event::timeout)
      co_return Error(ErrorKind::not_connected,
                      what + ": no session within " + drom::to_string(options.connect_timeout),
                      "check host and port; connectTimeout sets the time");
    wanted = PQconnectPoll(handle.get());
  }
  if (PQsetnonblocking(handle.get(), 1) != 0)
    co_return pg_not_connected(what, PQerrorMessage(handle.get()), options.password);
  watcher.assign(PQsocket(handle.get()));
  co_return std::move(handle);
}

async<Result<void>> PgConnection::dial(Lane& lane, Clock& real_clock) {
  Result<PgHandle> dialled = co_await pg_dial(options_, watcher_, lane, real_clock);
  if (!dialled) co_return std::move(dialled.error());
  handle_ = std::move(*dialled);
  PQsetNoticeReceiver(handle_.get(), &PgConnection::on_notice, this);
  if (!PQenterPipelineMode(handle_.get())) co_return lost();
  co_return Result<void>();
}

// The text formats that pg_values reads, and the server's own deadline.
async<Result<void>> PgConnection::set_up() {
  Command command;
  command.sql =
      "SELECT set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO', false), "
      "set_config('bytea_output', 'hex', false), set_config('statement_timeout', $1, false)";
  command.params.emplace_back(std::to_string(options_.statement_timeout.count()));
  std::vector<Command> commands;
  commands.push_back(std::move(command));
  const PgTrip trip(std::move(commands), false, false);
  const Result<std::vector<Rows>> done = co_await run(trip);
  if (!done) co_return done.error();
  co_return Result<void>();
}

}  // namespace drom::sql
