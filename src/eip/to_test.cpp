#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class To : public EipTest {
 protected:
  To() { harness.producers["notes:a"] = &producer; }
  static StepSpec to(std::string uri) { return step("to").set("uri", std::move(uri)); }
  NotingProducer producer;
};

TEST_F(To, SendsAndTakesTheReplyAsTheMessage) {
  producer.behaviour = [](Exchange& e) { e.message.body = "reply"; };
  const Exchange out = run(to("notes:a"), exchange_of("x"));
  EXPECT_EQ(producer.sent, std::vector<std::string>{"x"});
  EXPECT_EQ(out.message.body, Value("reply"));
}

TEST_F(To, HandsABatchOverAsAWhole) {
  Batch batch;
  for (const char* body : {"a", "b"}) batch.push_back(exchange_of(body));
  run(to("notes:a"), batch);
  EXPECT_EQ(producer.sent, (std::vector<std::string>{"a", "b"}));
}

TEST_F(To, ChangesThePatternForOneSend) {
  const Exchange out = run(to("notes:a").set("pattern", "InOut"), exchange_of("x"));
  EXPECT_EQ(producer.patterns.front(), ExchangePattern::in_out);
  EXPECT_EQ(out.pattern, ExchangePattern::in_only);
}

TEST_F(To, SendsAVariableAndPutsTheReplyIntoAnother) {
  producer.behaviour = [](Exchange& e) { e.message.body = "reply"; };
  Exchange in = exchange_of("x");
  in.variables.set("order", "o-1");
  const Exchange out = run(
      to("notes:a").set("variableSend", "order").set("variableReceive", "answer"), std::move(in));
  EXPECT_EQ(producer.sent.front(), "o-1");
  EXPECT_EQ(out.message.body, Value("x"));
  EXPECT_EQ(*out.variables.find("answer"), Value("reply"));
}

TEST_F(To, LeavesTheErrorOfTheProducerOnTheExchange) {
  producer.behaviour = [](Exchange& e) { e.fail(Error(ErrorKind::not_connected, "down")); };
  const Exchange out = run(to("notes:a").set("variableReceive", "v"), exchange_of("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::not_connected);
  EXPECT_EQ(out.message.body, Value("x"));
}

class ToInTransaction : public To {};

// Outside, the effect comes at once: a later message of a key must not overtake a failed one.
TEST_F(ToInTransaction, OnlyThereTakesBatchesOfWhatWaitsForTheCommit) {
  producer.defers = true;
  EXPECT_FALSE(make(to("notes:a")).waiting->takes_batches());
  harness.begin_unit(BuildContext::Unit::join);
  EXPECT_TRUE(make(to("notes:a")).waiting->takes_batches());
  harness.begin_unit(BuildContext::Unit::none);
  EXPECT_FALSE(make(to("notes:a")).waiting->takes_batches());
  harness.end_unit();
  harness.end_unit();
}

TEST_F(ToInTransaction, HoldsASendBackUntilTheCommit) {
  producer.defers = true;
  std::vector<std::string> notes;
  StepSpec block =
      step("transacted", {call([&](Exchange& e) {
                            e.unit->enlist(this, "db", std::make_unique<NotingTransaction>(notes));
                          }),
                          to("notes:a"), call([&](Exchange& e) {
                            notes.push_back("sent so far: " + std::to_string(producer.sent.size()));
                            e.message.body = "changed later";
                          })});
  producer.behaviour = [&](Exchange& e) {
    notes.push_back("send " + e.message.body.to_text());
    EXPECT_FALSE(e.unit);
  };
  const Exchange out = run(block, exchange_of("x"));
  EXPECT_TRUE(out.running());
  EXPECT_EQ(notes, (std::vector<std::string>{"sent so far: 0", "commit", "send x"}));
}

TEST_F(ToInTransaction, DropsTheSendOnRollback) {
  producer.defers = true;
  run(step("transacted", {to("notes:a"), fail_with(Error(ErrorKind::data, "bad"))}),
      exchange_of("x"));
  EXPECT_TRUE(producer.sent.empty());
}

TEST_F(ToInTransaction, SendsAtOnceWhatExpectsAReplyOrBelongsToTheDatabase) {
  for (const bool defers : {true, false}) {
    producer.defers = defers;
    producer.sent.clear();
    StepSpec send = to("notes:a");
    if (defers) send.set("pattern", "InOut");
    bool sent_inside = false;
    run(step("transacted",
             {send, call([&](Exchange&) { sent_inside = producer.sent.size() == 1; })}),
        exchange_of("x"));
    EXPECT_TRUE(sent_inside) << defers;
  }
}

TEST_F(ToInTransaction, HoldsARequestBackOnlyWhenTheStepDeclinesTheReply) {
  producer.replies = true;
  for (const std::string pattern : {"InOnly", "InOut", ""}) {
    producer.sent.clear();
    StepSpec send = to("notes:a");
    if (!pattern.empty()) send.set("pattern", pattern);
    bool sent_inside = false;
    run(step("transacted",
             {send, call([&](Exchange&) { sent_inside = producer.sent.size() == 1; })}),
        exchange_of("x"));
    EXPECT_EQ(sent_inside, pattern != "InOnly") << pattern;
    EXPECT_EQ(producer.sent.size(), 1u) << pattern;
  }
}

TEST_F(ToInTransaction, FailsTheExchangeWhenAHeldBackSendFails) {
  producer.defers = true;
  producer.behaviour = [](Exchange& e) { e.fail(Error(ErrorKind::not_connected, "down")); };
  std::vector<std::string> notes;
  const Exchange out = run(
      step("transacted", {call([&](Exchange& e) {
                            e.unit->enlist(this, "db", std::make_unique<NotingTransaction>(notes));
                          }),
                          to("notes:a")}),
      exchange_of("x"));
  EXPECT_EQ(notes, std::vector<std::string>{"commit"});
  ASSERT_TRUE(out.failed());
  EXPECT_NE(out.error->what.find("after the commit"), std::string::npos);
  EXPECT_FALSE(out.unit);
}

class ToDynamic : public EipTest {
 protected:
  // The URI that the template gives for a header value; the harness knows no other producer.
  std::string uri_for(std::string uri, std::string value, std::vector<OptionText> parameters = {}) {
    StepSpec spec = step("toD").set("uri", std::move(uri));
    spec.parameters = std::move(parameters);
    Exchange in = exchange_of("x");
    in.message.headers.set("h", Value(std::move(value)));
    const Exchange out = run(spec, std::move(in));
    EXPECT_TRUE(out.failed());
    const std::string& what = out.error->what;
    return what.substr(17, what.size() - 18);  // no producer for '...'
  }
};

TEST_F(ToDynamic, SendsToTheComputedEndpoint) {
  NotingProducer producer;
  harness.producers["seda:eu"] = &producer;
  Exchange in = exchange_of("x");
  in.message.headers.set("h", "eu");
  EXPECT_TRUE(run(step("toD").set("uri", "seda:${header.h}"), std::move(in)).running());
  EXPECT_EQ(producer.sent, std::vector<std::string>{"x"});
}

TEST_F(ToDynamic, KeepsDataFromBecomingOptions) {
  EXPECT_EQ(uri_for("seda:${header.h}?size=5", "a?block=true"), "seda:a%3Fblock=true?size=5");
  EXPECT_EQ(uri_for("file:out?fileName=${header.h}", "x&delete=true"),
            "file:out?fileName=x%26delete=true");
  EXPECT_EQ(uri_for("http:x?q=${header.h}", "RAW(1+1) 50%"), "http:x?q=RAW%281%2B1%29 50%25");
}

TEST_F(ToDynamic, AppendsParametersAsAQuery) {
  OptionText name;
  name.name = "fileName";
  name.text = "a&b-${header.h}.txt";
  EXPECT_EQ(uri_for("file:out", "1&2", {name}), "file:out?fileName=a%26b-1%262.txt");
}

TEST_F(ToDynamic, LetsNoMessageChooseTheScheme) {
  EXPECT_NE(problem_of(step("toD").set("uri", "${header.h}")).find("E0504"), std::string::npos);
  harness.problems = {};
  EXPECT_NE(problem_of(step("toD").set("uri", "k${header.h}:x")).find("E0504"), std::string::npos);
}

TEST_F(ToDynamic, ChecksComputedSchemesAgainstTheList) {
  NotingProducer producer;
  harness.producers["seda:a"] = &producer;
  const StepSpec spec = step("toD").set("uri", "${header.h}").set("allowedSchemes", "seda,direct");
  Exchange good = exchange_of("x");
  good.message.headers.set("h", "seda:a");
  EXPECT_TRUE(run(spec, std::move(good)).running());
  Exchange evil = exchange_of("x");
  evil.message.headers.set("h", "file:/etc");
  const Exchange out = run(spec, std::move(evil));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::rejected);
  EXPECT_NE(out.error->what.find("'file'"), std::string::npos);
}

TEST_F(ToDynamic, MayIgnoreWhatIsNoEndpoint) {
  const Exchange out =
      run(step("toD").set("uri", "seda:${body}").set("ignoreInvalidEndpoint", "true"),
          exchange_of("x"));
  EXPECT_TRUE(out.running());
}

TEST_F(ToDynamic, ReportsABraceThatIsNeverClosed) {
  EXPECT_NE(problem_of(step("toD").set("uri", "seda:${header.h")).find("E0501"), std::string::npos);
}

}  // namespace
}  // namespace drom
