#include "eip/convert_body.hpp"
#include "spi/step_support.hpp"
#include "support/eip_fixture.hpp"

namespace drom {
namespace {

using namespace testing;  // NOLINT: the vocabulary of the tests

class Process : public EipTest {
 protected:
  Process() {
    harness.registry().bind_processor("price", [](Exchange& e) { e.message.body = "priced"; });
    harness.registry().bind_processor("price.add", [](Exchange& e) { e.message.body = "added"; });
  }
};

TEST_F(Process, CallsTheFunctionRegisteredUnderTheName) {
  EXPECT_EQ(run(step("process").set("ref", "#price"), exchange_of("x")).message.body,
            Value("priced"));
  EXPECT_EQ(run(step("bean").set("ref", "price"), exchange_of("x")).message.body, Value("priced"));
  EXPECT_EQ(
      run(step("bean").set("ref", "price").set("method", "add"), exchange_of("x")).message.body,
      Value("added"));
}

TEST_F(Process, CallsTheFunctionOfTheFluentDsl) {
  EXPECT_EQ(run(append("!"), exchange_of("x")).message.body, Value("x!"));
}

TEST_F(Process, NamesTheNearestFunctionForAnUnknownOne) {
  const std::string problem = problem_of(step("process").set("ref", "prise"));
  EXPECT_NE(problem.find("E0502"), std::string::npos);
  EXPECT_NE(problem.find("price"), std::string::npos);
}

TEST_F(Process, NeedsAName) {
  EXPECT_NE(problem_of(step("process")).find("E0503"), std::string::npos);
}

TEST(ConvertBody, ConvertsByTheTable) {
  struct Case {
    Value from;
    const char* type;
    std::optional<Value> to;  // nullopt: an error of kind data
  };
  const Case cases[] = {
      {Value(7), "java.lang.String", Value("7")},
      {Value(Bytes("ab")), "String", Value("ab")},
      {Value("ab"), "byte[]", Value(Bytes("ab"))},
      {Value("12"), "int", Value(12)},
      {Value("2147483648"), "Integer", std::nullopt},
      {Value("2147483648"), "java.lang.Long", Value(int64_t{2147483648})},
      {Value("9223372036854775808"), "long", std::nullopt},
      {Value("1.5"), "long", std::nullopt},
      {Value("1.5"), "Double", Value(1.5)},
      {Value("x"), "double", std::nullopt},
      {Value("1.10"), "java.math.BigDecimal", Value(Decimal{"1.10"})},
      {Value("TRUE"), "boolean", Value(true)},
      {Value("yes"), "boolean", std::nullopt},
      {Value("[1,2]"), "java.util.List", Value(List{Value(1), Value(2)})},
      {Value("[1,2]"), "Map", std::nullopt},
      {Value("{"), "Map", std::nullopt},
      {Value(7), "Object", Value(7)},
  };
  for (const Case& c : cases) {
    const std::optional<BodyType> type = body_type(c.type);
    ASSERT_TRUE(type) << c.type;
    const Result<Value> out = convert(c.from, *type);
    EXPECT_EQ(out.ok(), c.to.has_value()) << c.from.to_text() << " to " << c.type;
    if (!out.ok()) {
      EXPECT_EQ(out.error().kind, ErrorKind::data);
    } else if (c.to) {
      EXPECT_EQ(*out, *c.to) << c.from.to_text() << " to " << c.type;
      EXPECT_EQ(out->kind(), c.to->kind()) << c.from.to_text() << " to " << c.type;
    }
  }
}

class ConvertBodyStep : public EipTest {};

TEST_F(ConvertBodyStep, KeepsTheBodyThatDoesNotFit) {
  const Exchange out = run(step("convertBodyTo").set("type", "Integer"), exchange_of("many"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::data);
  EXPECT_EQ(out.message.body, Value("many"));
}

TEST_F(ConvertBodyStep, EmptiesItWhenTheTypeIsNotMandatory) {
  const Exchange out = run(step("convertBodyTo").set("type", "Integer").set("mandatory", "false"),
                           exchange_of("many"));
  EXPECT_TRUE(out.running());
  EXPECT_TRUE(out.message.body.is_null());
}

TEST_F(ConvertBodyStep, RefusesAnUnknownType) {
  EXPECT_NE(problem_of(step("convertBodyTo").set("type", "java.lang.Strng")).find("String"),
            std::string::npos);
}

// Every step documents itself: the reference pages and the schema are made from this.
TEST_F(ConvertBodyStep, AndAllOthersDocumentTheirOptions) {
  for (const std::string& name : harness.registry().step_names()) {
    const ConfigSpec spec = harness.registry().step(name)->spec();
    EXPECT_EQ(spec.name, name);
    EXPECT_FALSE(spec.title.empty()) << name;
    EXPECT_FALSE(spec.doc.empty()) << name;
    EXPECT_FALSE(spec.example.empty()) << name;
    for (const OptionSpec& option : spec.options)
      EXPECT_TRUE(option.doc.ends_with('.')) << name << "." << option.name;
  }
}

}  // namespace
}  // namespace drom
