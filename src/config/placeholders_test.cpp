#include <gtest/gtest.h>

#include "config/test_support.hpp"

namespace drom {
namespace {

class Placeholders : public ::testing::Test {
 protected:
  Placeholders() {
    source.properties = {{"host", "db"},
                         {"port", "5432"},
                         {"stage", "test"},
                         {"name-test", "T"},
                         {"url", "{{host}}:{{port}}"},
                         {"a", "{{b}}"},
                         {"b", "{{a}}"},
                         {"self", "x{{self}}"},
                         {"on", "true"},
                         {"off", "FALSE"},
                         {"raw", "{{host}}"},
                         {"empty", ""}};
    source.variables = {{"HOME_DIR", "/home"}};
  }
  std::string resolved(std::string_view text) {
    diagnostics = Diagnostics();
    const auto out = resolve_placeholders(text, source, testing::at(1, 1), diagnostics);
    if (diagnostics.has_errors()) return "error " + diagnostics.items()[0].code;
    return out ? "[" + *out + "]" : "unset";
  }
  testing::MapProperties source;
  Diagnostics diagnostics;
};

TEST_F(Placeholders, AreResolvedInAllOfCamelsForms) {
  EXPECT_EQ(resolved("no placeholder"), "[no placeholder]");
  EXPECT_EQ(resolved("{{host}}"), "[db]");
  EXPECT_EQ(resolved("jdbc:{{host}}:{{port}}/x"), "[jdbc:db:5432/x]");
  EXPECT_EQ(resolved("{{none:fallback}}"), "[fallback]");
  EXPECT_EQ(resolved("{{none:}}"), "[]");
  EXPECT_EQ(resolved("{{none:http://h:80/}}"), "[http://h:80/]");
  EXPECT_EQ(resolved("{{host:unused}}"), "[db]");
  EXPECT_EQ(resolved("{{empty:unused}}"), "[]");
  EXPECT_EQ(resolved("{{?host}}"), "[db]");
  EXPECT_EQ(resolved("{{?none}}"), "unset");
  EXPECT_EQ(resolved("x={{?none}}&y"), "unset");
  EXPECT_EQ(resolved("{{?none:d}}"), "[d]");
  EXPECT_EQ(resolved("{{none?optional=true}}"), "unset");
  EXPECT_EQ(resolved("{{!on}}"), "[false]");
  EXPECT_EQ(resolved("{{!off}}"), "[true]");
  EXPECT_EQ(resolved("{{env:HOME_DIR}}"), "[/home]");
  EXPECT_EQ(resolved("{{env:NONE:/tmp}}"), "[/tmp]");
  EXPECT_EQ(resolved("{{sys:host}}"), "[db]");
  EXPECT_EQ(resolved("{{sys:none:d}}"), "[d]");
}

TEST_F(Placeholders, AreNested) {
  EXPECT_EQ(resolved("{{name-{{stage}}}}"), "[T]");
  EXPECT_EQ(resolved("{{url}}"), "[db:5432]");
  EXPECT_EQ(resolved("{{none:{{host}}}}"), "[db]");
  EXPECT_EQ(resolved("{{host:{{undefined}}}}"), "[db]");  // the default is not needed
  EXPECT_EQ(resolved("{{raw?nested=false}}"), "[{{host}}]");
}

TEST_F(Placeholders, AreLeftAloneWhenEscaped) {
  EXPECT_EQ(resolved("\\{{host\\}}"), "[{{host}}]");
  EXPECT_EQ(resolved("{\"a\":{\"b\":1}}"), "[{\"a\":{\"b\":1}}]");
  EXPECT_EQ(resolved("${header.x}"), "[${header.x}]");
}

TEST_F(Placeholders, ReportWhatTheyCannotResolve) {
  EXPECT_EQ(resolved("{{none}}"), "error E0209");
  EXPECT_EQ(resolved("{{env:NONE}}"), "error E0209");
  EXPECT_EQ(resolved("{{none:{{none2}}}}"), "error E0209");
  EXPECT_EQ(resolved("{{a}}"), "error E0210");
  EXPECT_EQ(resolved("{{self}}"), "error E0210");
  EXPECT_EQ(resolved("{{host"), "error E0210");
  EXPECT_EQ(resolved("{{}}"), "error E0210");
  EXPECT_EQ(resolved("{{!host}}"), "error E0210");
  EXPECT_EQ(resolved("{{aws:secret}}"), "error E0303");
}

TEST_F(Placeholders, DoNotGrowWithoutEnd) {
  source.properties["p0"] = std::string(1000, 'x');
  for (int i = 1; i <= 12; ++i) {
    std::string value;
    for (int j = 0; j < 10; ++j) value += "{{p" + std::to_string(i - 1) + "}}";
    source.properties["p" + std::to_string(i)] = value;
  }
  EXPECT_EQ(resolved("{{p12}}"), "error E0210");
}

TEST_F(Placeholders, NameTheirPlaceInTheFile) {
  diagnostics.add_source("r.yaml", "uri: \"sql:x?user={{user}}\"\n");
  resolve_placeholders("sql:x?user={{user}}", source, testing::at(1, 6), diagnostics);
  ASSERT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.items()[0].where.text(), "r.yaml:1:18");
  EXPECT_EQ(diagnostics.items()[0].what, "the property 'user' is not defined");
}

}  // namespace
}  // namespace drom
