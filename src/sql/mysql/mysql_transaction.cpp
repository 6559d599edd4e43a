#include "sql/mysql/mysql_core.hpp"

namespace drom::sql {
namespace {

// Takes a session at its first statement. Destroyed unfinished, or cancelled in a statement, it
// leaves the rollback to the lane.
class MysqlTransaction final : public Transaction {
 public:
  explicit MysqlTransaction(std::shared_ptr<MysqlCore> core) : core_(std::move(core)) {}
  ~MysqlTransaction() override {
    if (lease_) lease_.abandon();
  }

  async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) override {
    const std::shared_ptr<MysqlCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    DROM_ASSERT(!finished_);
    if (failed_) co_return *failed_;
    const bool begin = !lease_;
    if (begin) {
      Result<MysqlLease> lease = co_await acquire(core);
      if (!lease) {
        failed_ = lease.error();
        co_return lease.error();
      }
      lease_ = std::move(*lease);
    }
    const MysqlTrip trip(std::move(commands), begin, false);
    MysqlWorker& worker = *lease_;
    const MysqlOptions& options = core->options;
    const auto work = [&worker, &options, &trip] { return run_trip(worker, options, trip); };
    Result<std::vector<Rows>> rows = co_await worker.lane.call(work);
    if (!rows) {  // the trip has rolled back already
      failed_ = rows.error();
      lease_.give_back();
    }
    co_return rows;
  }

  async<Result<void>> commit() override {
    const std::shared_ptr<MysqlCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    finished_ = true;
    if (failed_) co_return *failed_;
    if (!lease_) co_return Result<void>();
    const MysqlTrip trip({}, false, true);
    MysqlWorker& worker = *lease_;
    const MysqlOptions& options = core->options;
    const auto work = [&worker, &options, &trip] { return run_trip(worker, options, trip); };
    const Result<std::vector<Rows>> done = co_await worker.lane.call(work);
    lease_.give_back();
    if (!done) co_return done.error();
    co_return Result<void>();
  }

  async<> rollback() override {
    const std::shared_ptr<MysqlCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    finished_ = true;
    if (!lease_) co_return;
    MysqlWorker& worker = *lease_;
    const auto work = [&worker] {
      if (!worker.connection) return;
      worker.connection->roll_back();
      if (!worker.connection->usable()) worker.connection.reset();
    };
    co_await worker.lane.call(work);
    lease_.give_back();
  }

 private:
  std::shared_ptr<MysqlCore> core_;
  // Parallel branches of one exchange take turns. Whoever is ahead waits with a deadline of its
  // own.
  Turnstile calls_{1};
  MysqlLease lease_;
  bool finished_ = false;
  std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<Transaction> make_mysql_transaction(std::shared_ptr<MysqlCore> core) {
  return std::make_unique<MysqlTransaction>(std::move(core));
}

}  // namespace drom::sql
