#include "sql/mysql/mysql_database.hpp"

#include "sql/mysql/mysql_core.hpp"

namespace drom::sql {
namespace {

class MysqlDatabase final : public Database {
 public:
  explicit MysqlDatabase(std::shared_ptr<MysqlCore> core) : core_(std::move(core)) {}
  ~MysqlDatabase() override {
    core_->opened = false;
    core_->idle.clear();
  }

  Dialect dialect() const override { return Dialect::mysql; }
  const std::string& name() const override { return core_->options.name; }

  async<Result<void>> open() override {
    const std::shared_ptr<MysqlCore> core = core_;
    if (core->opened) co_return Result<void>();
    core->opened = true;
    Result<void> ready = co_await first_session(core);
    if (!ready) {
      core->opened = false;
      core->idle.clear();
      co_return ready;
    }
    core->log.debug("sql", "opened data source '" + core->options.name + "' (MariaDB or MySQL)");
    co_return Result<void>();
  }

  async<> close() override {
    const std::shared_ptr<MysqlCore> core = core_;
    core->hints.cancel();
    core->opened = false;
    core->idle.clear();  // leased ones close when they come back
    co_return;
  }

  async<Result<Rows>> execute(std::string sql, List params) override {
    const std::shared_ptr<MysqlCore> core = core_;
    const MysqlTrip trip(Command{std::move(sql), std::move(params)});
    Result<std::vector<Rows>> rows = co_await run(core, trip);
    if (!rows) co_return rows.error();
    co_return std::move(rows->front());
  }

  async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) override {
    const std::shared_ptr<MysqlCore> core = core_;
    if (commands.empty()) co_return std::vector<Rows>();
    const MysqlTrip trip(std::move(commands), true, true);
    Result<std::vector<Rows>> rows = co_await run(core, trip);
    co_return rows;
  }

  async<Result<void>> script(std::string text) override {
    const std::shared_ptr<MysqlCore> core = core_;
    Result<MysqlLease> lease = co_await acquire(core);
    if (!lease) co_return lease.error();
    MysqlWorker& worker = **lease;
    const MysqlOptions& options = core->options;
    const auto work = [&worker, &options, &text] { return run_script(worker, options, text); };
    Result<void> done = co_await worker.lane.call(work);
    co_return done;
  }

  async<Result<std::unique_ptr<Transaction>>> begin() override {
    if (!core_->opened) co_return mysql_closed(core_->options);
    co_return make_mysql_transaction(core_);
  }

  void signal(std::string_view channel) override { core_->hints.signal(channel); }
  async<> wait(std::string channel, milliseconds timeout) override {
    const std::shared_ptr<MysqlCore> core = core_;
    co_await core->hints.wait(core->clock, std::move(channel), timeout);
  }
  void cancel_waits() override { core_->hints.cancel(); }

 private:
  static async<Result<void>> first_session(std::shared_ptr<MysqlCore> core) {
    Result<MysqlLease> lease = co_await acquire(core);
    if (!lease) co_return lease.error();
    MysqlWorker& worker = **lease;
    const MysqlOptions& options = core->options;
    const auto work = [&worker, &options]() -> Result<void> {
      if (options.init.empty()) return make_ready(worker, options);
      if (Result<void> ready = make_ready(worker, options); !ready) return ready;
      Result<void> done = run_script(worker, options, options.init);
      if (!done) done.error().what += " (in `init` of data source '" + options.name + "')";
      return done;
    };
    Result<void> ready = co_await worker.lane.call(work);
    co_return ready;
  }

  // A whole transaction, or one statement: the lane leaves the session at rest.
  static async<Result<std::vector<Rows>>> run(std::shared_ptr<MysqlCore> core,
                                              const MysqlTrip& trip) {
    Result<MysqlLease> lease = co_await acquire(core);
    if (!lease) co_return lease.error();
    MysqlWorker& worker = **lease;
    const MysqlOptions& options = core->options;
    const auto work = [&worker, &options, &trip] { return run_trip(worker, options, trip); };
    Result<std::vector<Rows>> rows = co_await worker.lane.call(work);
    co_return rows;
  }

  std::shared_ptr<MysqlCore> core_;
};

}  // namespace

std::shared_ptr<Database> make_mysql(MysqlOptions options, boost::asio::io_context& io,
                                     Clock& clock, Log& log) {
  return std::make_shared<MysqlDatabase>(
      std::make_shared<MysqlCore>(std::move(options), io, clock, log));
}

}  // namespace drom::sql
