#include "sql/postgres/postgres_database.hpp"

#include "sql/postgres/pg_core.hpp"

namespace drom::sql {
namespace {

class PostgresDatabase final : public Database {
 public:
  explicit PostgresDatabase(std::shared_ptr<PgCore> core) : core_(std::move(core)) {}
  ~PostgresDatabase() override {
    core_->opened = false;
    core_->idle.clear();
    wake_listener(*core_);
  }

  Dialect dialect() const override { return Dialect::postgres; }
  const std::string& name() const override { return core_->options.name; }

  async<Result<void>> open() override {
    const std::shared_ptr<PgCore> core = core_;
    if (core->opened) co_return Result<void>();
    core->opened = true;
    Result<void> ready;
    {
      Result<PgLease> lease = co_await acquire(core);
      if (!lease) {
        ready = lease.error();
      } else if (!core->options.init.empty()) {
        ready = co_await (*lease)->script(core->options.init);
        if (!ready)
          ready.error().what += " (in `init` of data source '" + core->options.name + "')";
      }
    }
    if (!ready) {
      core->opened = false;
      core->idle.clear();
      co_return ready;
    }
    core->log.debug("sql", "opened data source '" + core->options.name + "' (PostgreSQL)");
    co_return Result<void>();
  }

  async<> close() override {
    const std::shared_ptr<PgCore> core = core_;
    core->hints.cancel();
    core->opened = false;
    core->idle.clear();  // leased ones close when they come back
    co_await stop_background(core);
  }

  async<Result<Rows>> execute(std::string sql, List params) override {
    const std::shared_ptr<PgCore> core = core_;
    std::vector<Command> commands;
    commands.push_back(Command{std::move(sql), std::move(params)});
    const PgTrip trip(std::move(commands), false, false);
    Result<PgLease> lease = co_await acquire(core);
    if (!lease) co_return lease.error();
    Result<std::vector<Rows>> rows = co_await (*lease)->run(trip);
    if (!rows) co_return rows.error();
    if ((*lease)->in_transaction()) {
      Error opened(ErrorKind::rejected, "a statement has opened a transaction",
                   "leave BEGIN, COMMIT and ROLLBACK to the transacted block");
      opened.type = "25001";
      co_return opened;  // the lease closes the session
    }
    co_return std::move(rows->front());
  }

  async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) override {
    const std::shared_ptr<PgCore> core = core_;
    if (commands.empty()) co_return std::vector<Rows>();
    const PgTrip trip(std::move(commands), true, true);
    Result<PgLease> lease = co_await acquire(core);
    if (!lease) co_return lease.error();
    Result<std::vector<Rows>> rows = co_await (*lease)->run(trip);
    if (!rows && (*lease)->in_transaction()) {
      const Result<void> undone = co_await (*lease)->roll_back();
      if (!undone) core->log.debug("sql", "rollback: " + undone.error().what);
    }
    co_return rows;
  }

  async<Result<void>> script(std::string text) override {
    const std::shared_ptr<PgCore> core = core_;
    Result<PgLease> lease = co_await acquire(core);
    if (!lease) co_return lease.error();
    Result<void> done = co_await (*lease)->script(text);
    co_return done;
  }

  async<Result<std::unique_ptr<Transaction>>> begin() override {
    if (!core_->opened) co_return pg_closed(core_->options);
    co_return make_pg_transaction(core_);
  }

  void signal(std::string_view channel) override {
    core_->hints.signal(channel);
    notify_soon(core_, channel);
  }
  async<> wait(std::string channel, milliseconds timeout) override {
    const std::shared_ptr<PgCore> core = core_;
    listen_to(core, channel);
    co_await core->hints.wait(core->clock, std::move(channel), timeout);
  }
  void cancel_waits() override { core_->hints.cancel(); }

  async<Result<std::unique_ptr<ReplicationStream>>> replicate() override {
    const std::shared_ptr<PgCore> core = core_;
    if (!core->opened) co_return pg_closed(core->options);
    Result<std::unique_ptr<ReplicationStream>> stream = co_await pg_replicate(core);
    co_return stream;
  }

 private:
  std::shared_ptr<PgCore> core_;
};

}  // namespace

std::shared_ptr<Database> make_postgres(PostgresOptions options, boost::asio::io_context& io,
                                        Clock& clock, Log& log) {
  return std::make_shared<PostgresDatabase>(
      std::make_shared<PgCore>(std::move(options), io, clock, log));
}

Result<void> check_options(PostgresOptions& options) {
  for (const auto& [keyword, value] : options.keywords)
    if (keyword == "password") options.password = value;
  if (options.url.empty()) return {};
  char* reason = nullptr;
  struct Free {
    void operator()(PQconninfoOption* o) const { PQconninfoFree(o); }
  };
  const std::unique_ptr<PQconninfoOption, Free> parsed(
      PQconninfoParse(options.url.c_str(), &reason));
  const std::string why = reason ? reason : "";
  PQfreemem(reason);
  if (!parsed) {
    // libpq repeats the whole url, with its password, in most of its complaints.
    const bool harmless = why.starts_with("invalid connection option") ||
                          why.starts_with("invalid URI query parameter");
    return Error(
        ErrorKind::config,
        "the url of data source '" + options.name + "' is no PostgreSQL url" +
            (harmless ? ": " + why.substr(0, why.find('\n')) : ""),
        "write postgresql://user@host:5432/database, or libpq keywords: host=... dbname=...");
  }
  for (const PQconninfoOption* o = parsed.get(); o->keyword; ++o)
    if (options.password.empty() && o->val && std::string_view(o->keyword) == "password")
      options.password = o->val;
  return {};
}

}  // namespace drom::sql
