#include <gtest/gtest.h>

#include "config/option_value.hpp"
#include "config/test_support.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

using testing::at;

ConfigSpec queue_spec() {
  ConfigSpec spec;
  spec.name = "queue";
  OptionSpec size = option("size", OptionType::integer, "How many.", "1000");
  size.minimum = 1;
  size.maximum = 5000;
  OptionSpec wait = option("wait", OptionType::duration, "How long; -1 is for ever.", "30s");
  wait.minimum = -1;
  OptionSpec bytes = option("bytes", OptionType::size, "How large.");
  bytes.minimum = 1024;
  OptionSpec password = option("password", OptionType::text, "The password.");
  password.secret = true;
  OptionSpec pin = option("pin", OptionType::integer, "The pin.");
  pin.secret = true;
  spec.options = {required_option("name", OptionType::text, "The name of the queue."),
                  size,
                  wait,
                  bytes,
                  password,
                  pin,
                  option("ratio", OptionType::number, "A ratio.", "0.5"),
                  option("durable", OptionType::boolean, "Kept.", "true"),
                  enum_option("mode", {"InOnly", "InOut", "read_committed"}, "The mode.", "InOnly"),
                  option("tags", OptionType::list, "Tags."),
                  option("key", OptionType::expression, "The key."),
                  option("when", OptionType::predicate, "The condition."),
                  option("repository", OptionType::reference, "The bean.")};
  return spec;
}

OptionText written(std::string name, std::string text, uint32_t line = 2) {
  OptionText out;
  out.name = std::move(name);
  out.text = std::move(text);
  out.where = at(line, 5);
  return out;
}

class Validation : public ::testing::Test {
 protected:
  Config validate(std::vector<OptionText> options, bool with_name = true) {
    if (with_name) options.insert(options.begin(), written("name", "q", 1));
    diagnostics = Diagnostics();
    return Config::validate(spec, options, at(1, 1), source, diagnostics);
  }
  // "E0203 what | hint" of the only problem.
  std::string problem(std::vector<OptionText> options, bool with_name = true) {
    validate(std::move(options), with_name);
    if (diagnostics.items().size() != 1)
      return std::to_string(diagnostics.items().size()) + " problems\n" + diagnostics.render();
    const Diagnostic& item = diagnostics.items()[0];
    return item.code + " " + item.what + (item.hint.empty() ? "" : " | " + item.hint);
  }
  ConfigSpec spec = queue_spec();
  testing::MapProperties source;
  Diagnostics diagnostics;
};

TEST_F(Validation, ReadsEveryTypeAndFillsInDefaults) {
  OptionText tags;
  tags.name = "tags";
  tags.is_list = true;
  tags.values = {"a", "b,c"};
  const Config config =
      validate({written("size", " 7 "), written("wait", "1m30s"), written("bytes", "64KB"),
                written("ratio", "0.25"), written("durable", "False"),
                written("mode", "READ-committed"), tags, written("repository", "#bean:repo")});
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  EXPECT_EQ(config.text("name"), "q");
  EXPECT_EQ(config.integer("size"), 7);
  EXPECT_EQ(config.duration("wait"), milliseconds(90'000));
  EXPECT_EQ(config.integer("bytes"), 65536);
  EXPECT_DOUBLE_EQ(config.number("ratio"), 0.25);
  EXPECT_FALSE(config.flag("durable"));
  EXPECT_EQ(config.text("mode"), "read_committed");
  EXPECT_EQ(config.list("tags"), (std::vector<std::string>{"a", "b,c"}));
  EXPECT_EQ(config.text("repository"), "repo");
  EXPECT_FALSE(config.has("key"));
  EXPECT_EQ(config.expression("key"), nullptr);

  const Config defaults = validate({});
  EXPECT_EQ(defaults.integer("size"), 1000);
  EXPECT_EQ(defaults.duration("wait"), milliseconds(30'000));
  EXPECT_TRUE(defaults.flag("durable"));
  EXPECT_TRUE(defaults.has("mode"));
  EXPECT_FALSE(defaults.given("mode"));
  EXPECT_EQ(defaults.where("mode").line, 1U);
}

TEST_F(Validation, SplitsAListAtCommas) {
  EXPECT_EQ(validate({written("tags", " a, b ,,c")}).list("tags"),
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(Validation, TakesMinusOneWhereTheMinimumAllowsIt) {
  EXPECT_EQ(validate({written("wait", "-1")}).duration("wait"), milliseconds(-1));
  EXPECT_EQ(problem({written("wait", "-2")}),
            "E0204 'wait' of queue must be at least -1, not '-2'");
}

TEST_F(Validation, SaysWhatIsWrongWithAValue) {
  EXPECT_EQ(problem({written("size", "ten")}),
            "E0203 'size' of queue must be a whole number, not 'ten'");
  EXPECT_EQ(problem({written("size", "")}), "E0203 'size' of queue must be a whole number, not ''");
  EXPECT_EQ(problem({written("size", "0")}), "E0204 'size' of queue must be at least 1, not '0'");
  EXPECT_EQ(problem({written("size", "5001")}),
            "E0204 'size' of queue must be at most 5000, not '5001'");
  EXPECT_EQ(problem({written("size", "99999999999999999999")}),
            "E0203 'size' of queue must be a whole number, not '99999999999999999999'");
  EXPECT_EQ(problem({written("wait", "5 parsecs")}),
            "E0203 'wait' of queue must be a duration, not '5 parsecs' | write it like 500ms, 5s, "
            "1m30s, 2h, or as a "
            "number of milliseconds");
  EXPECT_EQ(
      problem({written("bytes", "10 XB")}),
      "E0203 'bytes' of queue must be a size, not '10 XB' | write it like 512, 64KB, 10MB, 1GB");
  EXPECT_EQ(problem({written("bytes", "1")}),
            "E0204 'bytes' of queue must be at least 1KB, not '1'");
  EXPECT_EQ(problem({written("ratio", "half")}),
            "E0203 'ratio' of queue must be a number, not 'half'");
  EXPECT_EQ(problem({written("durable", "yes")}),
            "E0203 'durable' of queue must be true or false, not 'yes'");
  EXPECT_EQ(problem({written("mode", "InOutt")}),
            "E0205 'mode' of queue must be one of InOnly, InOut, read_committed, not 'InOutt' | "
            "did you mean 'InOut'?");
}

TEST_F(Validation, ReportsUnknownMissingAndDoubledOptions) {
  EXPECT_EQ(problem({written("sise", "1")}),
            "E0201 unknown option 'sise' for queue | did you mean 'size'?");
  EXPECT_EQ(problem({}, false), "E0202 queue needs 'name' | The name of the queue.");
  EXPECT_EQ(problem({written("name", "  ", 3)}, false),
            "E0202 'name' of queue is empty | The name of the queue.");
  EXPECT_EQ(problem({written("size", "1"), written("size", "2", 3)}),
            "E0206 option 'size' of queue is given twice | the first is at r.yaml:2:5");
}

TEST_F(Validation, PointsAtTheNameOfAnUnknownOption) {
  OptionText wrong = written("sise", "1");
  wrong.name_where = at(2, 1);
  validate({wrong});
  EXPECT_EQ(diagnostics.items()[0].where.text(), "r.yaml:2:1");
}

TEST_F(Validation, ReportsEverythingAtOnce) {
  validate({written("size", "x"), written("sise", "1"), written("durable", "2")}, false);
  EXPECT_EQ(diagnostics.items().size(), 4U);
}

// C58
TEST_F(Validation, NeverPrintsASecret) {
  diagnostics.add_source("r.yaml", "");
  EXPECT_EQ(problem({written("pin", "S3CRET")}), "E0203 'pin' of queue must be a whole number");
  EXPECT_TRUE(diagnostics.items()[0].secret);
  source.properties["db.password"] = "S3CRET";
  EXPECT_EQ(problem({written("size", "{{db.password}}")}),
            "E0203 'size' of queue must be a whole number, not what '{{db.password}}' stands for");
}

TEST_F(Validation, ResolvesPlaceholders) {
  source.properties = {{"n", "12"}, {"lang", "header.id"}};
  EXPECT_EQ(validate({written("size", "{{n}}")}).integer("size"), 12);
  EXPECT_EQ(problem({written("durable", "{{n}}")}),
            "E0203 'durable' of queue must be true or false, not '12' (from '{{n}}')");
  EXPECT_EQ(problem({written("size", "{{undefined}}")}).substr(0, 5), "E0209");
  EXPECT_EQ(problem({written("name", "{{undefined}}")}, false).substr(0, 5), "E0209");
}

TEST_F(Validation, TreatsAnUnsetOptionalPlaceholderAsNotGiven) {
  const Config config = validate({written("size", "{{?n}}")});
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_EQ(config.integer("size"), 1000);
  EXPECT_FALSE(config.given("size"));
  EXPECT_EQ(problem({written("name", "{{?n}}")}, false),
            "E0202 queue needs 'name', and its placeholder is not set | define the property, or "
            "give it a default");
}

TEST_F(Validation, KeepsFreeParametersInOrder) {
  spec.free_parameters = true;
  const Config config = validate({written("zeta", "1"), written("alpha", "2")});
  ASSERT_EQ(config.extra().size(), 2U);
  EXPECT_EQ(config.extra()[0], (std::pair<std::string, std::string>("zeta", "1")));
}

OptionText expression(std::string name, std::string language, std::string text, Location where) {
  OptionText out;
  out.name = std::move(name);
  out.is_expression = true;
  out.expression = {std::move(language), std::move(text), where, nullptr};
  out.where = std::move(where);
  return out;
}

TEST_F(Validation, CompilesExpressions) {
  const Config config =
      validate({expression("key", "simple", "${header.id}", at(2, 3)), written("when", "true")});
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.render();
  EXPECT_NE(config.expression("key"), nullptr);
  EXPECT_NE(config.expression("when"), nullptr);
}

// C53: a real syntax error gives file, line and column.
TEST_F(Validation, NamesTheColumnOfASyntaxErrorInTheFile) {
  diagnostics = Diagnostics();
  diagnostics.add_source("r.yaml", "- filter:\n    simple: \"{{x}} \\\"${hedder.a}\"\n");
  source.properties["x"] = "a longer text";
  const std::vector<OptionText> options = {
      written("name", "q", 1), expression("key", "simple", "{{x}} \"${hedder.a}", at(2, 13))};
  Config::validate(spec, options, at(1, 1), source, diagnostics);
  ASSERT_EQ(diagnostics.items().size(), 1U) << diagnostics.render();
  EXPECT_EQ(diagnostics.items()[0].code, "E0207");
  EXPECT_EQ(diagnostics.items()[0].where.line, 2U);
  EXPECT_GE(diagnostics.items()[0].where.column, 22U)
      << diagnostics.render();  // inside of ${hedder.a}
}

TEST_F(Validation, RefusesTheWrongForm) {
  EXPECT_EQ(problem({expression("size", "simple", "1", at(2, 3))}).substr(0, 5), "E0203");
  OptionText list = written("size", "");
  list.is_list = true;
  EXPECT_EQ(problem({list}), "E0203 'size' of queue takes one value, not a list");
  EXPECT_EQ(problem({expression("key", "simpel", "x", at(2, 3))}).substr(0, 5), "E0207");
}

TEST(OptionValue, ReadsSizes) {
  EXPECT_EQ(parse_size("512"), 512);
  EXPECT_EQ(parse_size("64kb"), 65536);
  EXPECT_EQ(parse_size("10 MB"), 10 << 20);
  EXPECT_EQ(parse_size("1G"), 1 << 30);
  for (const char* wrong : {"", "KB", "-1", "1.5MB", "9999999999999TB", "1 KiB"})
    EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace drom
