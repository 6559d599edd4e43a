#include "sql/sql_idempotent_repository.hpp"

#include <boost/asio/co_spawn.hpp>

#include "sql/inbox_janitor.hpp"
#include "support/sql_fixture.hpp"

namespace drom {
namespace {

class SqlInbox : public testing::SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const Result<void> prepared = harness.run(prepare_inbox(*database, "drom_inbox"));
    ASSERT_TRUE(prepared.ok()) << prepared.error().message();
    repository = make_sql_idempotent_repository(*database, "drom_inbox");
    run("CREATE TABLE orders (id INTEGER PRIMARY KEY)");
  }
  bool add(const std::string& consumer, const std::string& key, UnitOfWork* unit = nullptr) {
    Exchange exchange;
    exchange.unit = unit;
    const Result<bool> added = harness.run(repository->add(consumer, key, exchange));
    EXPECT_TRUE(added.ok()) << (added.ok() ? "" : added.error().message());
    return added.ok() && *added;
  }
  Result<void> remove(const std::string& consumer, const std::string& key,
                      UnitOfWork* unit = nullptr) {
    Exchange exchange;
    exchange.unit = unit;
    return harness.run(repository->remove(consumer, key, exchange));
  }
  std::shared_ptr<IdempotentRepository> repository;
};

TEST_P(SqlInbox, KnowsAKeyTheSecondTimePerConsumer) {  // C13
  EXPECT_TRUE(add("billing", "m1"));
  EXPECT_TRUE(add("stock", "m1"));
  EXPECT_FALSE(add("billing", "m1"));
  EXPECT_FALSE(add("stock", "m1"));
  EXPECT_EQ(number("SELECT count(*) FROM drom_inbox"), 2);
  EXPECT_TRUE(*harness.run(repository->contains("billing", "m1")));
  EXPECT_FALSE(*harness.run(repository->contains("billing", "m2")));
}

TEST_P(SqlInbox, KeyAndEffectCommitTogetherOrNotAtAll) {  // C14
  for (const bool commit : {false, true}) {
    UnitOfWork unit;
    EXPECT_TRUE(add("ship", "m1", &unit)) << "a rollback frees the key";
    Exchange exchange;
    exchange.unit = &unit;
    List none;
    ASSERT_TRUE(
        harness.run(sql::execute(exchange, *database, "INSERT INTO orders (id) VALUES (1)", none))
            .ok());
    if (commit) {
      EXPECT_TRUE(harness.run(unit.commit()).ok());
    } else {
      harness.run(unit.rollback());
    }
    EXPECT_EQ(number("SELECT count(*) FROM orders"), commit ? 1 : 0);
    EXPECT_EQ(number("SELECT count(*) FROM drom_inbox"), commit ? 1 : 0);
  }
  EXPECT_FALSE(add("ship", "m1"));
}

TEST_P(SqlInbox, AFailedInsertIsNotRemembered) {  // C15
  run("ALTER TABLE drom_inbox RENAME TO away");
  Exchange exchange;
  EXPECT_FALSE(harness.run(repository->add("c", "k1", exchange)).ok());
  run("ALTER TABLE away RENAME TO drom_inbox");
  EXPECT_TRUE(add("c", "k1"));
  EXPECT_FALSE(add("c", "k1"));
}

TEST_P(SqlInbox, RemoveFreesTheKeyOutsideAUnit) {
  EXPECT_TRUE(add("c", "k"));
  EXPECT_TRUE(remove("c", "k").ok());
  EXPECT_TRUE(add("c", "k"));
}

TEST_P(SqlInbox, RemoveInARolledBackUnitLeavesTheDatabaseAlone) {
  UnitOfWork unit;
  EXPECT_TRUE(add("c", "k", &unit));
  unit.mark_rollback_only();
  EXPECT_TRUE(remove("c", "k", &unit).ok());
  harness.run(unit.rollback());
  EXPECT_TRUE(add("c", "k"));
}

async<> add_in(IdempotentRepository& repository, UnitOfWork& unit, std::optional<bool>& out) {
  Exchange exchange;
  exchange.unit = &unit;
  Result<bool> added = co_await repository.add("c", "same", exchange);
  EXPECT_TRUE(added.ok());
  out = added.ok() && *added;
}

TEST_P(SqlInbox, ASecondDeliveryWaitsForTheFirstAndIsADuplicate) {
  UnitOfWork first, second;
  EXPECT_TRUE(add("c", "same", &first));
  std::optional<bool> other;
  harness.spawn(add_in(*repository, second, other));
  let_pass(milliseconds(100));
  EXPECT_FALSE(other) << "insert first: the second must wait";
  EXPECT_TRUE(harness.run(first.commit()).ok());
  ASSERT_TRUE(until([&] { return other.has_value(); }));
  EXPECT_FALSE(*other);
  harness.run(second.rollback());
}

TEST_P(SqlInbox, ABatchOfKeysIsAddedInOneGoAndKnowsItsDuplicates) {
  EXPECT_TRUE(add("c", "old"));
  UnitOfWork unit;
  Batch batch(5);
  for (Exchange& exchange : batch) exchange.unit = &unit;
  std::vector<std::string> keys{"z", "old", "a", "z", "b"};
  const Result<std::vector<bool>> fresh =
      harness.run(repository->add_all("c", std::move(keys), batch));
  ASSERT_TRUE(fresh.ok()) << fresh.error().message();
  EXPECT_EQ(*fresh, (std::vector<bool>{true, false, true, false, true}));
  EXPECT_TRUE(harness.run(unit.commit()).ok());
  EXPECT_EQ(number("SELECT count(*) FROM drom_inbox"), 4);
}

TEST_P(SqlInbox, OldKeysAreDeletedAChunkAtATime) {
  run(GetParam() == sql::Dialect::mysql
          ? "INSERT INTO drom_inbox (consumer, message_id, created_at) "
            "SELECT 'c', concat('old', seq), '2020-01-01' FROM seq_1_to_1500"
      : GetParam() == sql::Dialect::sqlite
          ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
            "INSERT INTO drom_inbox SELECT 'c', 'old' || i, '2020-01-01T00:00:00.000Z' FROM n"
          : "INSERT INTO drom_inbox SELECT 'c', 'old' || i, timestamptz '2020-01-01' "
            "FROM generate_series(1, 1500) AS i");
  EXPECT_TRUE(add("c", "new"));
  InboxJanitor janitor(*database, *clock, harness.captured, "drom_inbox", std::chrono::hours(24));
  EXPECT_TRUE(*harness.run(janitor.purge())) << "there is more";
  EXPECT_EQ(number("SELECT count(*) FROM drom_inbox"), 501);
  EXPECT_FALSE(*harness.run(janitor.purge()));
  EXPECT_EQ(number("SELECT count(*) FROM drom_inbox"), 1);
  EXPECT_FALSE(add("c", "new"));
}

TEST_P(SqlInbox, KeysDifferByCaseAndByBlanks) {
  EXPECT_TRUE(add("c", "key"));
  EXPECT_TRUE(add("c", "Key"));
  EXPECT_TRUE(add("c", "key "));
  EXPECT_TRUE(add("c", "k\xC3\xA9y"));
  EXPECT_FALSE(add("c", "key"));
}

TEST_P(SqlInbox, ALongKeyIsKeptWholeOrRefused) {
  Exchange exchange;
  const std::string key(600, 'k');
  const Result<bool> first = harness.run(repository->add("c", key + "1", exchange));
  if (!first.ok()) {
    EXPECT_EQ(first.error().kind, ErrorKind::rejected);
    return;
  }
  EXPECT_TRUE(*harness.run(repository->add("c", key + "2", exchange)));
}

TEST_P(SqlInbox, PreparingTwiceIsHarmless) {
  EXPECT_TRUE(harness.run(prepare_inbox(*database, "drom_inbox")).ok());
}

INSTANTIATE_TEST_SUITE_P(Dialects, SqlInbox, ::testing::ValuesIn(testing::all_dialects()),
                         testing::dialect_name);

}  // namespace
}  // namespace drom
