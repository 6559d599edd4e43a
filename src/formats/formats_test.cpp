#include "formats/formats.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/harness.hpp"

namespace drom {
namespace {

class JsonFormat : public ::testing::Test {
 protected:
  JsonFormat() { register_formats(harness.registry()); }
  static StepSpec json_step(std::string name) {
    StepSpec clause;
    clause.name = "json";
    StepSpec out;
    out.name = std::move(name);
    out.clauses.push_back(std::move(clause));
    return out;
  }
  Exchange run(const StepSpec& spec, Value body) {
    Step step = harness.make_step(spec);
    EXPECT_TRUE(step.plain) << harness.problems.render();
    Exchange exchange(Message{std::move(body), {}});
    Scope scope = harness.scope();
    harness.run(run_one(step, exchange, scope));
    return exchange;
  }
  testing::Harness harness;
};

// C51: digits survive the way through a tree.
TEST_F(JsonFormat, KeepsEveryDigit) {
  const std::string text =
      R"({"id":9007199254740993,"x":228930314431312345,"d":1.10,"big":123456789012345678901234567890})";
  Exchange tree = run(json_step("unmarshal"), Value(Bytes(text)));
  ASSERT_TRUE(tree.message.body.is_object());
  EXPECT_EQ(*tree.message.body.as_object()->find("id"), Value(int64_t{9007199254740993}));
  const Exchange again = run(json_step("marshal"), tree.message.body);
  EXPECT_EQ(again.message.body, Value(text));
}

TEST_F(JsonFormat, SetsTheContentTypeUnlessToldOtherwise) {
  EXPECT_EQ(run(json_step("marshal"), Value(List())).message.headers.text("content-type"),
            "application/json");
  StepSpec quiet = json_step("marshal");
  quiet.clauses.front().set("contentTypeHeader", "false");
  EXPECT_FALSE(run(quiet, Value(List())).message.headers.find("content-type"));
}

TEST_F(JsonFormat, KeepsTheOriginalBytesOfWhatItCannotRead) {
  const std::string deep(1000, '[');
  for (const std::string& bad :
       {std::string("{\"a\":1,\"a\":2}"), std::string("NaN"), std::string("{} x"), std::string(""),
        deep, std::string("{\"a\":}")}) {
    const Exchange out = run(json_step("unmarshal"), Value(Bytes(bad)));
    ASSERT_TRUE(out.failed()) << bad;
    EXPECT_EQ(out.error->kind, ErrorKind::data);
    ASSERT_TRUE(out.message.body.is_bytes());
    EXPECT_EQ(out.message.body.raw(), bad);
  }
}

TEST_F(JsonFormat, RefusesToWriteWhatJsonCannotSay) {
  const Exchange out =
      run(json_step("marshal"), Value(List{Value(std::numeric_limits<double>::quiet_NaN())}));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::data);
  EXPECT_TRUE(out.message.body.is_list());
}

TEST_F(JsonFormat, LeavesATreeAsItIs) {
  EXPECT_EQ(run(json_step("unmarshal"), Value(List{Value(1)})).message.body, Value(List{Value(1)}));
}

TEST_F(JsonFormat, FailsOnAnEmptyBodyUnlessThatIsFine) {
  EXPECT_TRUE(run(json_step("unmarshal"), Value()).failed());
  StepSpec lenient = json_step("unmarshal");
  lenient.set("allowNullBody", "true");
  EXPECT_TRUE(run(lenient, Value()).running());
}

TEST_F(JsonFormat, WritesPrettyWhenAsked) {
  StepSpec pretty = json_step("marshal");
  pretty.clauses.front().set("prettyPrint", "true").set("library", "Gson");
  EXPECT_NE(run(pretty, Value(List{Value(1)})).message.body.raw().find('\n'),
            std::string_view::npos);
}

TEST_F(JsonFormat, RefusesToReadIntoJavaClasses) {
  StepSpec typed = json_step("unmarshal");
  typed.clauses.front().set("unmarshalType", "com.acme.Order");
  EXPECT_FALSE(harness.make_step(typed).plain);
  EXPECT_NE(harness.problems.render().find("E0505"), std::string::npos);
}

TEST_F(JsonFormat, NeedsAFormat) {
  StepSpec none;
  none.name = "marshal";
  EXPECT_FALSE(harness.make_step(none).plain);
  EXPECT_NE(harness.problems.render().find("E0503"), std::string::npos);
}

}  // namespace
}  // namespace drom
