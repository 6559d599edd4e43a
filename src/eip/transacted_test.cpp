#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class Transacted : public EipTest {
 protected:
  // Opens a transaction in the unit of work, as a sql step does on first use.
  StepSpec use_database(std::optional<Error> commit_error = {}) {
    return call([this, commit_error](Exchange& e) {
      ASSERT_TRUE(e.unit);
      const Result<TransactionResource*> joined = e.unit->joined(this, "db");
      ASSERT_TRUE(joined.ok());
      if (*joined) return;
      notes.emplace_back("begin");
      e.unit->enlist(this, "db", std::make_unique<NotingTransaction>(notes, commit_error));
    });
  }
  static StepSpec block(std::vector<StepSpec> children, std::string ref = "PROPAGATION_REQUIRED") {
    return step("transacted", std::move(children)).set("ref", std::move(ref));
  }
  std::vector<std::string> notes;
};

using Notes = std::vector<std::string>;

TEST_F(Transacted, CommitsOnceAtTheEnd) {
  const Exchange out = run(block({use_database(), use_database()}), exchange_of("x"));
  EXPECT_TRUE(out.running());
  EXPECT_FALSE(out.unit);
  EXPECT_EQ(notes, (Notes{"begin", "commit"}));
}

TEST_F(Transacted, RollsBackOnAnErrorAndKeepsIt) {
  const Exchange out =
      run(block({use_database(), fail_with(Error(ErrorKind::data, "bad"))}), exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "bad");
  EXPECT_EQ(notes, (Notes{"begin", "rollback"}));
}

TEST_F(Transacted, RedeliversTheWholeBlockEachAttemptAUnitOfItsOwn) {
  int attempts = 0;
  RetryPolicy policy(5);
  const Exchange out = run(block({use_database(), append("+"), call([&](Exchange& e) {
                                    if (++attempts < 3)
                                      e.fail(Error(ErrorKind::transient, "not yet"));
                                  })}),
                           exchange_of("x"), &policy);
  EXPECT_TRUE(out.running());
  EXPECT_EQ(out.message.body, Value("x+"));
  EXPECT_EQ(notes, (Notes{"begin", "rollback", "begin", "rollback", "begin", "commit"}));
  EXPECT_EQ(policy.steps, Notes{"transacted"});
}

TEST_F(Transacted, GivesEachExchangeOfABatchItsOwnUnit) {
  Batch batch;
  for (const char* body : {"a", "bad", "c"}) batch.push_back(exchange_of(body));
  run(block({use_database(), call([](Exchange& e) {
               if (e.message.body == Value("bad")) e.fail(Error(ErrorKind::data, "bad"));
             })}),
      batch);
  EXPECT_EQ(notes, (Notes{"begin", "commit", "begin", "rollback", "begin", "commit"}));
  EXPECT_TRUE(batch[0].running());
  EXPECT_TRUE(batch[1].failed());
  EXPECT_TRUE(batch[2].running());
}

TEST_F(Transacted, ABatchSharesOneUnitWhenTheRouteAsksForIt) {
  Batch batch;
  for (const char* body : {"a", "b", "c"}) batch.push_back(exchange_of(body));
  run(block({use_database()}).set("batch", "2"), batch);
  EXPECT_EQ(notes, (Notes{"begin", "commit", "begin", "commit"}));
  for (const Exchange& exchange : batch) EXPECT_FALSE(exchange.unit);
}

TEST_F(Transacted, ABatchThatFailsIsTriedOneByOneSoThatTheBadOneCostsOnlyItself) {
  Batch batch;
  for (const char* body : {"a", "bad", "c"}) batch.push_back(exchange_of(body));
  run(block({use_database(), append("+"), call([](Exchange& e) {
               if (e.message.body == Value("bad+")) e.fail(Error(ErrorKind::data, "bad"));
             })})
          .set("batch", "10"),
      batch);
  EXPECT_EQ(notes, (Notes{"begin", "rollback", "begin", "commit", "begin", "rollback", "begin",
                          "commit"}));
  EXPECT_TRUE(batch[0].running());
  EXPECT_EQ(batch[0].message.body, Value("a+"));
  EXPECT_TRUE(batch[1].failed());
  EXPECT_TRUE(batch[2].running());
}

TEST_F(Transacted, AfterAFailureInABatchLaterMessagesOfTheKeyWait) {
  Batch batch;
  for (const char* body : {"bad", "b", "c", "d"}) batch.push_back(exchange_of(body));
  batch[0].key = batch[2].key = batch[3].key = "k";
  run(block({use_database(), call([](Exchange& e) {
               if (e.message.body == Value("bad")) e.fail(Error(ErrorKind::data, "bad"));
             })})
          .set("batch", "3"),
      batch);
  EXPECT_EQ(batch[0].error->kind, ErrorKind::data);
  EXPECT_TRUE(batch[1].running());
  ASSERT_TRUE(batch[2].failed() && batch[3].failed());
  EXPECT_EQ(batch[2].error->kind, ErrorKind::cancelled);
  EXPECT_EQ(batch[3].error->kind, ErrorKind::cancelled) << "also in the next part of the batch";
}

TEST_F(Transacted, AnUnknownCommitOfABatchIsNotTriedAgainHere) {
  Batch batch;
  for (const char* body : {"a", "b"}) batch.push_back(exchange_of(body));
  run(block({use_database(Error(ErrorKind::not_connected, "gone"))}).set("batch", "2"), batch);
  EXPECT_EQ(notes, (Notes{"begin", "commit"}));
  EXPECT_TRUE(batch[0].failed() && batch[1].failed());
}

TEST_F(Transacted, StepsWithOtherEffectsCannotShareATransaction) {
  NotingProducer http;
  harness.producers["http:x"] = &http;
  StepSpec send = step("to");
  send.set("uri", "http:x");
  harness.make_step(block({use_database(), send}).set("batch", "2"));
  ASSERT_EQ(harness.problems.items().size(), 1u);
  EXPECT_EQ(harness.problems.items().front().code, "E0506");
}

TEST_F(Transacted, FailsWhenTheCommitFails) {
  const Exchange out =
      run(block({use_database(Error(ErrorKind::transient, "serialization"))}), exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::transient);
}

TEST_F(Transacted, CommitsWhatWasStopped) {
  const Exchange out = run(block({use_database(), step("stop")}), exchange_of("x"));
  EXPECT_EQ(out.flow, Flow::stopped);
  EXPECT_EQ(notes, (Notes{"begin", "commit"}));
}

TEST_F(Transacted, RollsBackWithoutAnErrorWhenTheRouteAsksForIt) {
  const Exchange out = run(
      block({use_database(), step("rollback").set("markRollbackOnly", "true")}), exchange_of("x"));
  EXPECT_EQ(out.flow, Flow::stopped);
  EXPECT_EQ(notes, (Notes{"begin", "rollback"}));
}

TEST_F(Transacted, RollsBackWithAnErrorByDefault) {
  const Exchange out =
      run(block({use_database(), step("rollback").set("message", "no ${body}")}), exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->what, "no x");
  EXPECT_EQ(out.error->type, "org.apache.camel.RollbackExchangeException");
  EXPECT_EQ(notes, (Notes{"begin", "rollback"}));
}

// A statement failed, the route caught the error and goes on: the work is gone, and that must show.
TEST_F(Transacted, FailsRatherThanPretendAfterACaughtFailure) {
  StepSpec attempt = step("doTry", {call([](Exchange& e) {
                            e.unit->mark_rollback_only();
                            e.fail(Error(ErrorKind::rejected, "constraint"));
                          })});
  StepSpec all = step("doCatch", {step("stop")});
  all.set("exception", "java.lang.Exception");
  attempt.clauses.push_back(all);
  const Exchange out = run(block({use_database(), attempt}), exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_NE(out.error->what.find("only roll back"), std::string::npos);
  EXPECT_EQ(notes, (Notes{"begin", "rollback"}));
}

TEST_F(Transacted, RequiredJoinsTheOuterUnit) {
  run(block({use_database(), block({use_database()})}), exchange_of("x"));
  EXPECT_EQ(notes, (Notes{"begin", "commit"}));
}

TEST_F(Transacted, RequiresNewCommitsOnItsOwn) {
  const Exchange out = run(block({use_database(), block({use_database()}, "requiresNew"),
                                  fail_with(Error(ErrorKind::data, "bad"))}),
                           exchange_of("x"));
  EXPECT_TRUE(out.failed());
  EXPECT_EQ(notes, (Notes{"begin", "begin", "commit", "rollback"}));
}

TEST_F(Transacted, SuppressRunsOutsideOfTheUnit) {
  bool outside = false;
  run(block({use_database(),
             block({call([&](Exchange& e) { outside = !e.unit; })}, "PROPAGATION_NOT_SUPPORTED"),
             use_database()}),
      exchange_of("x"));
  EXPECT_TRUE(outside);
  EXPECT_EQ(notes, (Notes{"begin", "commit"}));
}

TEST_F(Transacted, MandatoryFailsWithoutAnOuterUnit) {
  bool ran = false;
  const StepSpec mandatory = block({call([&](Exchange&) { ran = true; })}, "mandatory");
  EXPECT_TRUE(run(mandatory, exchange_of("x")).failed());
  EXPECT_FALSE(ran);
  EXPECT_TRUE(run(block({mandatory}), exchange_of("x")).running());
  EXPECT_TRUE(ran);
}

TEST_F(Transacted, AFailureInAJoinedBlockCannotBeCommittedByTheOuter) {
  StepSpec attempt = step("doTry", {block({fail_with(Error(ErrorKind::data, "bad"))})});
  StepSpec all = step("doCatch");
  all.set("exception", "java.lang.Exception");
  attempt.clauses.push_back(all);
  const Exchange out = run(block({use_database(), attempt}), exchange_of("x"));
  EXPECT_TRUE(out.failed());
  EXPECT_EQ(notes, (Notes{"begin", "rollback"}));
}

TEST_F(Transacted, RefusesAnUnknownPolicy) {
  const std::string problem = problem_of(block({append("x")}, "PROPAGATION_REQUIRD"));
  EXPECT_NE(problem.find("E0502"), std::string::npos);
  EXPECT_NE(problem.find("PROPAGATION_REQUIRED"), std::string::npos);
}

TEST_F(Transacted, RollbackNeedsATransaction) {
  EXPECT_TRUE(run(step("rollback").set("markRollbackOnly", "true"), exchange_of("x")).failed());
}

}  // namespace
}  // namespace drom
