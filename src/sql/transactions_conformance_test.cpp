#include "sql/database_fixture.hpp"

namespace drom::sql {
namespace {

using std::chrono::milliseconds;

TEST_P(DatabaseConformance, ShowsATransactionOnlyAfterItsCommit) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  EXPECT_EQ(in(*transaction, "SELECT id FROM items")->rows.size(), 1U);
  EXPECT_EQ(count("items"), 0);
  ASSERT_TRUE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 1);
}

TEST_P(DatabaseConformance, ForgetsATransactionThatRollsBack) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  harness.run(transaction->rollback());
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, RollsBackATransactionThatIsDestroyed) {
  run(kItems);
  {
    const auto transaction = begin();
    ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  }
  EXPECT_EQ(count("items"), 0);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");  // nobody holds a lock any more
}

TEST_P(DatabaseConformance, CommitsNothingAfterAFailedStatement) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  const Result<Rows> broken = in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'again')");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::rejected);
  const Result<Rows> after = in(*transaction, "INSERT INTO items (id, name) VALUES (2, 'two')");
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::rejected);
  EXPECT_FALSE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, CommitsATransactionThatDidNothing) {
  const auto transaction = begin();
  EXPECT_TRUE(harness.run(transaction->commit()));
}

TEST_P(DatabaseConformance, DoesNotLetAStatementEndOrOpenATransaction) {
  run(kItems);
  const auto transaction = begin();
  ASSERT_TRUE(in(*transaction, "INSERT INTO items (id, name) VALUES (1, 'one')"));
  const Result<Rows> ended = in(*transaction, "ROLLBACK");
  EXPECT_FALSE(ended);
  EXPECT_FALSE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 0);
  EXPECT_EQ(fail("BEGIN").kind, ErrorKind::rejected);
  run("INSERT INTO items (id, name) VALUES (1, 'one')");
  EXPECT_EQ(count("items"), 1);
}

async<> add_some(Database& database, int64_t from, int& committed) {
  Result<std::unique_ptr<Transaction>> begun = co_await database.begin();
  Transaction& transaction = **begun;
  for (int64_t i = from; i < from + 10; ++i) {
    const Command command = insert(i, "n");
    const Result<Rows> done = co_await transaction.execute(command.sql, command.params);
    if (!done) co_return;
  }
  const Result<void> done = co_await transaction.commit();
  if (done) ++committed;
}

TEST_P(DatabaseConformance, RunsManyTransactionsSideBySide) {
  run(kItems);
  int committed = 0;
  for (int i = 0; i < 20; ++i) harness.spawn(add_some(*database, i * 10, committed));
  int last = 0;
  harness.run(add_some(*database, 1000, last));
  while (committed < 20) harness.run(add_some(*database, 2000 + 10 * last, last));
  EXPECT_EQ(count("items"), 10 * (20 + last));
}

TEST_P(DatabaseConformance, RunsABatchInOneTransaction) {
  run(kItems);
  std::vector<Command> commands;
  commands.push_back(insert(1, "one"));
  commands.push_back(insert(2, "two"));
  commands.push_back(Command{"SELECT count(*) FROM items", {}});
  commands.push_back(Command{"DELETE FROM items WHERE id = $1", values(2)});
  const auto done = harness.run(database->execute_all(std::move(commands)));
  ASSERT_TRUE(done) << done.error().message();
  ASSERT_EQ(done->size(), 4U);
  EXPECT_EQ((*done)[0].affected, 1);
  EXPECT_EQ((*done)[2].rows.at(0)[0], Value(2));
  EXPECT_EQ((*done)[3].affected, 1);
  EXPECT_EQ(count("items"), 1);
  EXPECT_TRUE(harness.run(database->execute_all({})));
}

TEST_P(DatabaseConformance, RunsNothingOfABatchThatFails) {
  run(kItems);
  std::vector<Command> commands;
  for (int i = 0; i < 300; ++i) commands.push_back(insert(i == 200 ? 7 : i, std::string(200, 'x')));
  const auto done = harness.run(database->execute_all(std::move(commands)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::rejected);
  EXPECT_NE(done.error().what.find("statement 201 of 300"), std::string::npos) << done.error().what;
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, RunsABatchInsideATransaction) {
  run(kItems);
  const auto transaction = begin();
  std::vector<Command> commands;
  commands.push_back(insert(1, "one"));
  commands.push_back(insert(2, "two"));
  ASSERT_TRUE(harness.run(transaction->execute_all(std::move(commands))));
  EXPECT_EQ(count("items"), 0);
  ASSERT_TRUE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 2);
}

TEST_P(DatabaseConformance, GivesUpWaitingForAPlaceWithAHint) {
  run(kItems);
  const auto impatient = connect(1, milliseconds(20));
  // It has one place, so a transaction that is opened inside another waits for itself.
  auto outer = harness.run(impatient->begin());
  ASSERT_TRUE(harness.run((*outer)->execute("INSERT INTO items (id, name) VALUES (1, 'one')", {})));
  auto inner = harness.run(impatient->begin());
  const Result<Rows> stuck =
      harness.run((*inner)->execute("INSERT INTO items (id, name) VALUES (2, 'two')", {}));
  ASSERT_FALSE(stuck);
  EXPECT_EQ(stuck.error().kind, ErrorKind::timeout);
  EXPECT_NE(stuck.error().hint, "");
  EXPECT_TRUE(harness.run((*outer)->commit()));
  auto later = harness.run(impatient->begin());
  EXPECT_TRUE(harness.run((*later)->execute("INSERT INTO items (id, name) VALUES (2, 'two')", {})));
  EXPECT_TRUE(harness.run((*later)->commit()));
  harness.run(impatient->close());
  EXPECT_EQ(count("items"), 2);
}

async<> two_branches(Transaction& transaction, int64_t id, std::vector<int64_t>& done) {
  const Command command = insert(id, "n");
  const Result<Rows> rows = co_await transaction.execute(command.sql, command.params);
  if (rows) done.push_back(id);
}

TEST_P(DatabaseConformance, LetsParallelBranchesTakeTurnsInATransaction) {
  run(kItems);
  const auto transaction = begin();
  std::vector<int64_t> done;
  for (int64_t i = 1; i <= 5; ++i) harness.spawn(two_branches(*transaction, i, done));
  harness.run(two_branches(*transaction, 6, done));
  EXPECT_EQ(done, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(harness.run(transaction->commit()));
  EXPECT_EQ(count("items"), 6);
}

TEST_P(DatabaseConformance, JoinsTheUnitOfWorkOfTheExchange) {
  run(kItems);
  UnitOfWork unit;
  Exchange exchange;
  exchange.unit = &unit;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  std::vector<Command> more;
  more.push_back(insert(2, "two"));
  ASSERT_TRUE(harness.run(execute_all(exchange, *database, std::move(more))));
  EXPECT_EQ(count("items"), 0);
  ASSERT_TRUE(harness.run(unit.commit()));
  EXPECT_EQ(count("items"), 2);
}

TEST_P(DatabaseConformance, WorksWithoutAUnitOfWork) {
  run(kItems);
  Exchange exchange;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  EXPECT_EQ(count("items"), 1);
}

TEST_P(DatabaseConformance, MarksTheUnitForRollbackWhenAStatementFails) {
  run(kItems);
  UnitOfWork unit;
  Exchange exchange;
  exchange.unit = &unit;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  EXPECT_FALSE(unit.rollback_only());
  EXPECT_FALSE(harness.run(execute(exchange, *database, one.sql, one.params)));
  EXPECT_TRUE(unit.rollback_only());
  harness.run(unit.rollback());
  EXPECT_EQ(count("items"), 0);
}

TEST_P(DatabaseConformance, RefusesTwoDataSourcesInOneUnit) {
  run(kItems);
  const auto other = connect();
  UnitOfWork unit;
  Exchange exchange;
  exchange.unit = &unit;
  const Command one = insert(1, "one");
  ASSERT_TRUE(harness.run(execute(exchange, *database, one.sql, one.params)));
  const Result<Rows> refused = harness.run(execute(exchange, *other, one.sql, one.params));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::config);
  EXPECT_TRUE(unit.rollback_only());
  harness.run(unit.rollback());
  harness.run(other->close());
}

}  // namespace
}  // namespace drom::sql
