#include "sql/postgres/pg_core.hpp"

namespace drom::sql {
namespace {

// Takes a connection at its first statement, which travels together with the BEGIN. Destroyed
// unfinished, or cancelled in a statement, it closes the connection and the server rolls back.
class PgTransaction final : public Transaction {
 public:
  explicit PgTransaction(std::shared_ptr<PgCore> core) : core_(std::move(core)) {}

  async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) override {
    const std::shared_ptr<PgCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    DROM_ASSERT(!finished_);
    if (failed_) co_return *failed_;
    const bool begin = !connection_;
    if (begin) {
      Result<PgLease> lease = co_await acquire(core);
      if (!lease) {
        failed_ = lease.error();
        co_return lease.error();
      }
      connection_ = std::move(*lease);
    }
    const PgTrip trip(std::move(commands), begin, false);
    Result<std::vector<Rows>> rows = co_await connection_->run(trip);
    if (rows && !connection_->in_transaction()) {
      Error ended(ErrorKind::rejected, "a statement has ended the transaction",
                  "leave BEGIN, COMMIT and ROLLBACK to the transacted block");
      ended.type = "25P01";
      rows = std::move(ended);
    }
    if (!rows) {
      failed_ = rows.error();
      co_await undo();
    }
    co_return rows;
  }

  async<Result<void>> commit() override {
    const std::shared_ptr<PgCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    finished_ = true;
    if (failed_) co_return *failed_;
    if (!connection_) co_return Result<void>();
    const PgTrip trip({}, false, true);
    const Result<std::vector<Rows>> done = co_await connection_->run(trip);
    connection_.give_back();
    if (!done) co_return done.error();
    co_return Result<void>();
  }

  async<> rollback() override {
    const std::shared_ptr<PgCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    finished_ = true;
    co_await undo();
  }

 private:
  // A connection that cannot be cleaned is closed by the lease.
  async<> undo() {
    if (connection_ && connection_->in_transaction()) {
      const Result<void> undone = co_await connection_->roll_back();
      if (!undone) core_->log.debug("sql", "rollback: " + undone.error().what);
    }
    connection_.give_back();
  }

  std::shared_ptr<PgCore> core_;
  // Parallel branches of one exchange take turns. Whoever is ahead waits with a deadline of its
  // own.
  Turnstile calls_{1};
  PgLease connection_;
  bool finished_ = false;
  std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<Transaction> make_pg_transaction(std::shared_ptr<PgCore> core) {
  return std::make_unique<PgTransaction>(std::move(core));
}

}  // namespace drom::sql
