#include "eip/idempotent_consumer.hpp"

#include <set>

#include "drom/spi/idempotent_repository.hpp"
#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

// Keeps keys and takes notes; one call can be made to fail.
class NotingRepository final : public IdempotentRepository {
 public:
  async<Result<bool>> add(std::string_view consumer, std::string_view key, Exchange&) override {
    if (failing("add")) co_return Error(ErrorKind::transient, "database is away");
    co_return keys.insert(note("add", consumer, key)).second;
  }
  async<Result<void>> confirm(std::string_view consumer, std::string_view key, Exchange&) override {
    if (failing("confirm")) co_return Error(ErrorKind::transient, "database is away");
    note("confirm", consumer, key);
    co_return Result<void>();
  }
  async<Result<void>> remove(std::string_view consumer, std::string_view key, Exchange&) override {
    if (failing("remove")) co_return Error(ErrorKind::transient, "database is away");
    keys.erase(note("remove", consumer, key));
    co_return Result<void>();
  }
  async<Result<bool>> contains(std::string_view consumer, std::string_view key) override {
    co_return keys.contains(note("contains", consumer, key));
  }

  std::set<std::string> keys;
  std::vector<std::string> calls;
  std::string fail_once;  // name of the call

 private:
  bool failing(std::string_view name) {
    if (fail_once != name) return false;
    fail_once.clear();
    return true;
  }
  std::string note(std::string_view name, std::string_view consumer, std::string_view key) {
    std::string full = std::string(consumer) + ":" + std::string(key);
    calls.push_back(std::string(name) + " " + full);
    return full;
  }
};

class IdempotentConsumer : public EipTest {
 protected:
  IdempotentConsumer() : repository(std::make_shared<NotingRepository>()) {
    harness.registry().bind<IdempotentRepository>("inbox", repository);
  }
  // Handles the message by counting; fails while `failures` lasts.
  StepSpec block() {
    StepSpec out = step("idempotentConsumer", {call([this](Exchange& e) {
                          if (failures-- > 0) return e.fail(Error(kind, "not now"));
                          ++effects;
                        })});
    out.set("expression", simple("${header.id}")).set("idempotentRepository", "#inbox");
    return out;
  }
  static Exchange message(Value id) {
    Exchange out = exchange_of("x");
    out.message.headers.set("id", std::move(id));
    return out;
  }
  static bool duplicate(const Exchange& exchange) {
    return exchange.properties.find("CamelDuplicateMessage") != nullptr;
  }

  std::shared_ptr<NotingRepository> repository;
  int effects = 0;
  int failures = 0;
  ErrorKind kind = ErrorKind::transient;
};

using Calls = std::vector<std::string>;

TEST_F(IdempotentConsumer, HandlesAMessageOnceAndGoesOnAfterTheBlock) {
  const Exchange first = run(block(), message("m1"));
  EXPECT_FALSE(duplicate(first));
  const Exchange second = run(block(), message("m1"));
  EXPECT_TRUE(duplicate(second));
  EXPECT_TRUE(second.running());
  EXPECT_EQ(effects, 1);
  const std::string key = "test/idempotentConsumer:m1";
  EXPECT_EQ(repository->calls, (Calls{"add " + key, "confirm " + key, "add " + key}));
}

TEST_F(IdempotentConsumer, HandlesEachMessageOfABatchOnce) {
  Batch batch;
  for (const char* id : {"m1", "m2", "m1"}) batch.push_back(message(id));
  run(block(), batch);
  EXPECT_EQ(effects, 2);
  EXPECT_TRUE(duplicate(batch[2]));
}

TEST_F(IdempotentConsumer, GivesTheKeyBackWhenTheBlockFails) {
  failures = 1;
  EXPECT_TRUE(run(block(), message("m1")).failed());
  EXPECT_TRUE(repository->keys.empty());
  EXPECT_TRUE(run(block(), message("m1")).running());
  EXPECT_EQ(effects, 1);
}

TEST_F(IdempotentConsumer, KeepsTheKeyOfAFailureWhenAsked) {
  failures = 1;
  StepSpec spec = block().set("removeOnFailure", "false");
  run(spec, message("m1"));
  EXPECT_TRUE(duplicate(run(spec, message("m1"))));
  EXPECT_EQ(effects, 0);
}

TEST_F(IdempotentConsumer, GivesTheKeyBackWhenTheEngineStopsWhateverIsAsked) {
  failures = 1;
  kind = ErrorKind::cancelled;
  run(block().set("removeOnFailure", "false"), message("m1"));
  EXPECT_TRUE(repository->keys.empty());
}

TEST_F(IdempotentConsumer, RedeliversTheFailedStepUnderTheSameKey) {
  failures = 2;
  RetryPolicy policy(5);
  EXPECT_TRUE(run(block(), message("m1"), &policy).running());
  EXPECT_EQ(effects, 1);
  const std::string key = "test/idempotentConsumer:m1";
  EXPECT_EQ(repository->calls, (Calls{"add " + key, "confirm " + key}));
}

TEST_F(IdempotentConsumer, PassesOnceWhenTheRepositoryRecovers) {
  repository->fail_once = "add";
  const Exchange first = run(block(), message("m1"));
  ASSERT_TRUE(first.failed());
  EXPECT_EQ(first.error->kind, ErrorKind::transient);
  EXPECT_EQ(effects, 0);
  EXPECT_TRUE(run(block(), message("m1")).running());
  EXPECT_TRUE(duplicate(run(block(), message("m1"))));
  EXPECT_EQ(effects, 1);
}

TEST_F(IdempotentConsumer, FailsWhenTheKeyCannotBeConfirmed) {
  repository->fail_once = "confirm";
  EXPECT_TRUE(run(block(), message("m1")).failed());
}

TEST_F(IdempotentConsumer, WarnsWhenAKeyCannotBeGivenBack) {
  failures = 1;
  repository->fail_once = "remove";
  const Exchange out = run(block(), message("m1"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "not now");
  EXPECT_TRUE(harness.captured.contains("taken for a duplicate"));
}

// C18: steps that change the header do not change the key.
TEST_F(IdempotentConsumer, FixesTheKeyAtItsEntry) {
  StepSpec spec = step("idempotentConsumer",
                       {step("setHeader").set("name", "id").set("expression", constant("x.tmp")),
                        call([this](Exchange& e) {
                          if (failures-- > 0) e.fail(Error(ErrorKind::transient, "disk"));
                        })});
  spec.set("expression", simple("${header.id}")).set("idempotentRepository", "inbox");
  failures = 1;
  run(spec, message("a.csv"));
  EXPECT_TRUE(repository->keys.empty());
  run(spec, message("a.csv"));
  EXPECT_EQ(repository->keys, std::set<std::string>{"test/idempotentConsumer:a.csv"});
  EXPECT_TRUE(duplicate(run(spec, message("a.csv"))));
}

// C13: two consumers of one event keep separate books.
TEST_F(IdempotentConsumer, KeepsTheKeysOfDifferentConsumersApart) {
  for (int delivery = 0; delivery < 2; ++delivery)
    for (const char* name : {"billing", "stock"}) run(block().set("name", name), message("m1"));
  EXPECT_EQ(effects, 2);
  EXPECT_EQ(repository->keys, (std::set<std::string>{"billing:m1", "stock:m1"}));
}

TEST_F(IdempotentConsumer, MarksDuplicatesAndRunsThemWhenTheyAreNotSkipped) {
  const StepSpec spec = block().set("skipDuplicate", "false");
  run(spec, message("m1"));
  failures = 1;
  const Exchange out = run(spec, message("m1"));
  EXPECT_TRUE(duplicate(out));
  EXPECT_TRUE(out.failed());
  // The failure of a duplicate does not free the key of the first.
  EXPECT_EQ(repository->keys.size(), 1U);
}

TEST_F(IdempotentConsumer, TakesTheKeyAfterTheBlockWhenNotEager) {
  const StepSpec spec = block().set("eager", "false");
  failures = 1;
  EXPECT_TRUE(run(spec, message("m1")).failed());
  run(spec, message("m1"));
  EXPECT_TRUE(duplicate(run(spec, message("m1"))));
  EXPECT_EQ(effects, 1);
  const std::string key = "test/idempotentConsumer:m1";
  EXPECT_EQ(repository->calls, (Calls{"contains " + key, "contains " + key, "add " + key,
                                      "confirm " + key, "contains " + key}));
}

TEST_F(IdempotentConsumer, FailsTheSecondOfTwoAtTheSameTimeWhenNotEager) {
  StepSpec spec =
      step("idempotentConsumer", {call([this](Exchange&) { repository->keys.insert("n:m1"); })});
  spec.set("expression", simple("${header.id}"))
      .set("idempotentRepository", "inbox")
      .set("name", "n")
      .set("eager", "false");
  const Exchange out = run(spec, message("m1"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::transient);
}

TEST_F(IdempotentConsumer, RefusesAMessageWithoutAKey) {
  for (const Value& id : {Value(), Value("")}) {
    const Exchange out = run(block(), message(id));
    ASSERT_TRUE(out.failed());
    EXPECT_EQ(out.error->kind, ErrorKind::data);
  }
  EXPECT_TRUE(repository->calls.empty());
}

TEST_F(IdempotentConsumer, NamesTheNearestRepositoryForAnUnknownOne) {
  StepSpec spec = step("idempotentConsumer", {append("x")});
  spec.set("expression", simple("${body}")).set("idempotentRepository", "inbx");
  const std::string problem = problem_of(spec);
  EXPECT_NE(problem.find("E0502"), std::string::npos);
  EXPECT_NE(problem.find("inbox"), std::string::npos);
}

}  // namespace
}  // namespace drom
