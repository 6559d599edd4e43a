#include "sql/sqlite/sqlite_database.hpp"

#include <algorithm>
#include <cctype>

#include "sql/sqlite/sqlite_core.hpp"

namespace drom::sql {
namespace {

// A first guess without asking SQLite; the reader's connection then knows for sure.
bool may_be_query(std::string_view sql) {
  while (!sql.empty() && std::isspace(static_cast<unsigned char>(sql.front())))
    sql.remove_prefix(1);
  const auto starts = [&](std::string_view word) {
    return sql.size() > word.size() &&
           std::equal(word.begin(), word.end(), sql.begin(), [](char a, char b) {
             return a == std::tolower(static_cast<unsigned char>(b));
           });
  };
  return starts("select") || starts("with") || starts("values") || starts("explain");
}

struct Pending {
  size_t& count;
  explicit Pending(size_t& c) : count(c) { ++count; }
  Pending(const Pending&) = delete;
  ~Pending() { --count; }
};

Result<void> open_worker(SqliteWorker& worker, const SqliteOptions& options,
                         SqliteConnection::Role role) {
  Result<std::unique_ptr<SqliteConnection>> opened = SqliteConnection::open(options, role);
  if (!opened) return opened.error();
  worker.connection = std::move(*opened);
  if (role == SqliteConnection::Role::reader || options.init.empty()) return {};
  Result<void> done = worker.connection->script(options.init);
  if (!done) done.error().what += " (in `init` of data source '" + options.name + "')";
  return done;
}

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(std::shared_ptr<SqliteCore> core) : core_(std::move(core)) {}

  Dialect dialect() const override { return Dialect::sqlite; }
  const std::string& name() const override { return core_->options.name; }

  async<Result<void>> open() override {
    using Role = SqliteConnection::Role;
    const std::shared_ptr<SqliteCore> core = core_;
    if (core->opened) co_return Result<void>();
    core->writer = std::make_unique<SqliteWorker>(core->io, "sql-" + core->options.name);
    core->readers.clear();
    SqliteWorker& writer = *core->writer;
    const SqliteOptions& options = core->options;
    const auto open_writer = [&writer, &options] {
      return open_worker(writer, options, Role::writer);
    };
    Result<void> opened = co_await writer.lane.call(open_writer);
    if (!opened) co_return opened;
    const size_t readers = options.in_memory() ? 0 : options.readers;
    for (size_t i = 0; i < readers; ++i) {
      core->readers.push_back(std::make_unique<SqliteWorker>(core->io, "sqlr-" + options.name));
      SqliteWorker& reader = *core->readers.back();
      const auto open_reader = [&reader, &options] {
        return open_worker(reader, options, Role::reader);
      };
      opened = co_await reader.lane.call(open_reader);
      if (!opened) co_return opened;
    }
    core->opened = true;
    core->log.debug("sql", "opened data source '" + options.name + "' (SQLite)");
    co_return Result<void>();
  }

  async<> close() override {
    const std::shared_ptr<SqliteCore> core = core_;
    core->hints.cancel();
    if (!core->opened) co_return;
    core->opened = false;
    // A transaction that is under way may end first; after the deadline it is rolled back.
    const std::optional<Turnstile::Permit> turn =
        co_await core->turn.enter(*core->real_clock, core->options.acquire_timeout);
    if (!turn)
      core->log.warn("sql", "closing data source '" + name() + "' with an open transaction");
    // The writer last: it then leaves no WAL file behind.
    for (const auto& reader : core->readers) co_await close_worker(*reader);
    co_await close_worker(*core->writer);
  }

  async<Result<Rows>> execute(std::string sql, List params) override {
    const std::shared_ptr<SqliteCore> core = core_;
    if (!core->opened) co_return sqlite_closed(core->options);
    const Command command{std::move(sql), std::move(params)};
    if (!core->readers.empty() && may_be_query(command.sql)) {
      SqliteWorker& reader = idle_reader(*core);
      const Pending pending(reader.pending);
      const auto read = [&reader, &command]() -> Result<std::optional<Rows>> {
        if (!reader.connection) return Error(ErrorKind::not_connected, "the data source is closed");
        return reader.connection->query(command);
      };
      Result<std::optional<Rows>> rows = co_await reader.lane.call(read);
      if (!rows) co_return rows.error();
      if (*rows) co_return std::move(**rows);
    }
    const std::optional<Turnstile::Permit> turn =
        co_await core->turn.enter(*core->real_clock, core->options.acquire_timeout);
    if (!turn) co_return no_turn(core->options);
    SqliteWorker& writer = *core->writer;
    const auto write = [&writer, &command] { return run_alone(writer, command); };
    Result<Rows> rows = co_await writer.lane.call(write);
    co_return rows;
  }

  async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) override {
    const std::shared_ptr<SqliteCore> core = core_;
    if (!core->opened) co_return sqlite_closed(core->options);
    const std::optional<Turnstile::Permit> turn =
        co_await core->turn.enter(*core->real_clock, core->options.acquire_timeout);
    if (!turn) co_return no_turn(core->options);
    SqliteWorker& writer = *core->writer;
    const SqliteTrip trip(std::move(commands), true, true);
    const auto work = [&writer, &trip] { return run_trip(writer, trip); };
    Result<std::vector<Rows>> rows = co_await writer.lane.call(work);
    co_return rows;
  }

  async<Result<void>> script(std::string text) override {
    const std::shared_ptr<SqliteCore> core = core_;
    if (!core->opened) co_return sqlite_closed(core->options);
    const std::optional<Turnstile::Permit> turn =
        co_await core->turn.enter(*core->real_clock, core->options.acquire_timeout);
    if (!turn) co_return no_turn(core->options);
    SqliteWorker& writer = *core->writer;
    const auto work = [&writer, &text]() -> Result<void> {
      if (!writer.connection) return Error(ErrorKind::not_connected, "the data source is closed");
      return writer.connection->script(text);
    };
    Result<void> done = co_await writer.lane.call(work);
    co_return done;
  }

  async<Result<std::unique_ptr<Transaction>>> begin() override {
    if (!core_->opened) co_return sqlite_closed(core_->options);
    co_return make_sqlite_transaction(core_);
  }

  void signal(std::string_view channel) override { core_->hints.signal(channel); }
  async<> wait(std::string channel, milliseconds timeout) override {
    const std::shared_ptr<SqliteCore> core = core_;
    co_await core->hints.wait(core->clock, std::move(channel), timeout);
  }
  void cancel_waits() override { core_->hints.cancel(); }

 private:
  static SqliteWorker& idle_reader(SqliteCore& core) {
    const auto fewer = [](const auto& a, const auto& b) { return a->pending < b->pending; };
    return **std::min_element(core.readers.begin(), core.readers.end(), fewer);
  }
  static async<> close_worker(SqliteWorker& worker) {
    const auto work = [&worker] { worker.connection.reset(); };
    co_await worker.lane.call(work);
  }

  std::shared_ptr<SqliteCore> core_;
};

}  // namespace

std::shared_ptr<Database> make_sqlite(SqliteOptions options, boost::asio::io_context& io,
                                      Clock& clock, Log& log) {
  return std::make_shared<SqliteDatabase>(
      std::make_shared<SqliteCore>(std::move(options), io, clock, log));
}

}  // namespace drom::sql
