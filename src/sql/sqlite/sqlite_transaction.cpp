#include "sql/sqlite/sqlite_core.hpp"

namespace drom::sql {
namespace {

class SqliteTransaction final : public Transaction {
 public:
  explicit SqliteTransaction(std::shared_ptr<SqliteCore> core) : core_(std::move(core)) {}

  ~SqliteTransaction() override {
    if (!open_) return;
    // The lane keeps its order: this rollback runs before the first statement of the next turn.
    SqliteWorker* const writer = core_->writer.get();
    writer->lane.push([writer] {
      if (writer->connection) writer->connection->roll_back();
    });
  }

  async<Result<std::vector<Rows>>> execute_all(std::vector<Command> commands) override {
    const std::shared_ptr<SqliteCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    DROM_ASSERT(!finished_);
    if (failed_) co_return *failed_;
    if (!core->opened) co_return fail(sqlite_closed(core->options));
    if (!turn_) {
      std::optional<Turnstile::Permit> turn =
          co_await core->turn.enter(*core->real_clock, core->options.acquire_timeout);
      if (!turn) co_return fail(no_turn(core->options));
      turn_ = std::move(*turn);
    }
    SqliteWorker& writer = *core->writer;
    const SqliteTrip trip(std::move(commands), !open_, false);
    open_ = true;
    const auto work = [&writer, &trip] { return run_trip(writer, trip); };
    Result<std::vector<Rows>> rows = co_await writer.lane.call(work);
    if (!rows) co_return fail(std::move(rows.error()));
    co_return rows;
  }

  async<Result<void>> commit() override {
    const std::shared_ptr<SqliteCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    finished_ = true;
    if (failed_) co_return *failed_;
    if (!open_) co_return Result<void>();
    SqliteWorker& writer = *core->writer;
    const SqliteTrip trip({}, false, true);
    const auto work = [&writer, &trip] { return run_trip(writer, trip); };
    const Result<std::vector<Rows>> done = co_await writer.lane.call(work);
    close();
    if (!done) co_return done.error();
    co_return Result<void>();
  }

  async<> rollback() override {
    const std::shared_ptr<SqliteCore> core = core_;
    const std::optional<Turnstile::Permit> call =
        co_await calls_.enter(*core->real_clock, milliseconds::max());
    finished_ = true;
    if (!open_) co_return;
    SqliteWorker& writer = *core->writer;
    const auto work = [&writer] {
      if (writer.connection) writer.connection->roll_back();
    };
    co_await writer.lane.call(work);
    close();
  }

 private:
  // The trip that failed has rolled back already.
  Error fail(Error error) {
    close();
    failed_ = error;
    return error;
  }
  void close() {
    open_ = false;
    turn_.release();
  }

  std::shared_ptr<SqliteCore> core_;
  // Parallel branches of one exchange take turns. Whoever is ahead waits with a deadline of its
  // own.
  Turnstile calls_{1};
  Turnstile::Permit turn_;
  bool open_ = false;  // BEGIN was sent and nothing has ended it
  bool finished_ = false;
  std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<Transaction> make_sqlite_transaction(std::shared_ptr<SqliteCore> core) {
  return std::make_unique<SqliteTransaction>(std::move(core));
}

}  // namespace drom::sql
