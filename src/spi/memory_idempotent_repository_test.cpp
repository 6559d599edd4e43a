#include "spi/memory_idempotent_repository.hpp"

#include <gtest/gtest.h>

#include "drom/rt/unit_of_work.hpp"
#include "support/harness.hpp"

namespace drom {
namespace {

using testing::Harness;

struct Fixture : ::testing::Test {
  Harness harness;
  std::shared_ptr<IdempotentRepository> repository = make_memory_idempotent_repository(3);

  static Exchange exchange(uint64_t serial) {
    Exchange out;
    out.serial = serial;
    return out;
  }
  bool add(std::string_view key, Exchange& e, std::string_view consumer = "billing") {
    Result<bool> added = harness.run(repository->add(consumer, key, e));
    return added.value();
  }
  void confirm(std::string_view key, Exchange& e) {
    ASSERT_TRUE(harness.run(repository->confirm("billing", key, e)).ok());
  }
  void remove(std::string_view key, Exchange& e) {
    ASSERT_TRUE(harness.run(repository->remove("billing", key, e)).ok());
  }
};
using MemoryIdempotentRepository = Fixture;

TEST_F(MemoryIdempotentRepository, KnowsAKeyFromTheClaimOn) {
  Exchange first = exchange(1), second = exchange(2);
  EXPECT_TRUE(add("k", first));
  EXPECT_FALSE(add("k", second));
  confirm("k", first);
  EXPECT_FALSE(add("k", second));
}

TEST_F(MemoryIdempotentRepository, KeepsTheKeysOfTwoConsumersApart) {  // C13
  Exchange e = exchange(1);
  EXPECT_TRUE(add("m1", e, "billing"));
  EXPECT_TRUE(add("m1", e, "stock"));
  EXPECT_FALSE(add("m1", e, "billing"));
}

TEST_F(MemoryIdempotentRepository, LetsAFailedMessageThroughAgain) {
  Exchange first = exchange(1), again = exchange(2);
  add("k", first);
  remove("k", first);
  EXPECT_TRUE(add("k", again));
}

TEST_F(MemoryIdempotentRepository, DoesNotLetAFailedDuplicateFreeTheKeyOfTheFirst) {
  Exchange first = exchange(1), duplicate = exchange(2), third = exchange(3);
  add("k", first);
  add("k", duplicate);
  remove("k", duplicate);
  EXPECT_FALSE(add("k", third));
}

TEST_F(MemoryIdempotentRepository, ForgetsTheKeySeenLongestAgoFirst) {
  Exchange e = exchange(1);
  for (const char* key : {"a", "b", "c"}) {
    add(key, e);
    confirm(key, e);
  }
  EXPECT_FALSE(add("a", e));  // seen again: younger than b now
  EXPECT_TRUE(add("d", e));
  EXPECT_TRUE(harness.run(repository->contains("billing", "a")).value());
  EXPECT_FALSE(harness.run(repository->contains("billing", "b")).value());
}

TEST_F(MemoryIdempotentRepository, NeverEvictsTheKeyOfAMessageOnItsWay) {
  Exchange e = exchange(1);
  for (const char* key : {"a", "b", "c"}) add(key, e);
  Result<bool> fourth = harness.run(repository->add("billing", "d", e));
  ASSERT_FALSE(fourth.ok());
  EXPECT_EQ(fourth.error().kind, ErrorKind::transient);
  confirm("b", e);
  EXPECT_TRUE(add("d", e));
  EXPECT_FALSE(add("a", e));
  EXPECT_FALSE(add("c", e));
}

TEST_F(MemoryIdempotentRepository, ConfirmsOnlyWhenTheUnitOfWorkCommits) {
  Exchange e = exchange(1), again = exchange(2);
  {
    UnitOfWork unit;
    e.unit = &unit;
    add("k", e);
    confirm("k", e);
    EXPECT_FALSE(add("k", again));
    harness.run(unit.rollback());
  }
  EXPECT_TRUE(add("k", again));  // C15: the redelivery is no duplicate

  UnitOfWork unit;
  again.unit = &unit;
  confirm("k", again);
  ASSERT_TRUE(harness.run(unit.commit()).ok());
  again.unit = nullptr;
  Exchange third = exchange(3);
  EXPECT_FALSE(add("k", third));
}

TEST_F(MemoryIdempotentRepository, FreesTheKeyWhenTheCommitFailsAfterTheConfirm) {
  Exchange e = exchange(1), again = exchange(1);
  add("k", e);
  confirm("k", e);
  remove("k", e);
  EXPECT_TRUE(add("k", again));
}

TEST_F(MemoryIdempotentRepository, IsABeanTypeUnderCamelsNameToo) {
  register_memory_idempotent_repository(harness.registry());
  EXPECT_NE(harness.registry().bean_type("drom.memoryIdempotentRepository"), nullptr);
  EXPECT_NE(harness.registry().bean_type(
                "org.apache.camel.support.processor.idempotent.MemoryIdempotentRepository"),
            nullptr);
}

}  // namespace
}  // namespace drom
