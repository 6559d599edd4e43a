#include "config/properties.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

std::string parsed(std::string_view text) {
  Diagnostics diagnostics;
  std::string out;
  for (const PropertyEntry& entry : parse_properties(text, "application.properties", diagnostics))
    out += std::to_string(entry.line) + "<" + entry.name + "|" + entry.value + ">";
  for (const Diagnostic& item : diagnostics.items())
    out += "!" + item.code + ":" + std::to_string(item.where.line);
  return out;
}

TEST(PropertiesFile, KnowsAllSeparators) {
  EXPECT_EQ(parsed("a=1\nb = 2\nc: 3\nd 4\n e\t=\t5 6 \nf"),
            "1<a|1>2<b|2>3<c|3>4<d|4>5<e|5 6 >6<f|>");
  EXPECT_EQ(parsed("url=http://h:80/?x=1"), "1<url|http://h:80/?x=1>");
  EXPECT_EQ(parsed("a = = b"), "1<a|= b>");
}

TEST(PropertiesFile, SkipsCommentsAndBlankLines) {
  EXPECT_EQ(parsed("# a=1\n! b=2\n\n   \n  # c\nd=#4"), "6<d|#4>");
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a=1\r\nb=2\rc=3"),
            "1<a|1>2<b|2>3<c|3>");
}

TEST(PropertiesFile, JoinsContinuedLines) {
  EXPECT_EQ(parsed("a=1,\\\n   2,\\\n   3\nb=x"), "1<a|1,2,3>4<b|x>");
  EXPECT_EQ(parsed("a=ends in a backslash\\\\\nb=1"), "1<a|ends in a backslash\\>2<b|1>");
  EXPECT_EQ(parsed("a=1\\\n# no comment"), "1<a|1# no comment>");
  EXPECT_EQ(parsed("a=1\\"), "1<a|1>");
}

TEST(PropertiesFile, ReadsEscapes) {
  EXPECT_EQ(parsed("a\\ b\\=c=\\t\\n\\x\\u00e4\\u20AC"), "1<a b=c|\t\nx\xC3\xA4\xE2\x82\xAC>");
  EXPECT_EQ(parsed("smile=\\ud83d\\ude00"), "1<smile|\xF0\x9F\x98\x80>");
}

TEST(PropertiesFile, ReportsWhatItCannotRead) {
  EXPECT_EQ(parsed("a=1\nb=\\u12\nc=3"), "1<a|1>3<c|3>!E0211:2");
  EXPECT_EQ(parsed("=x"), "!E0211:1");
  EXPECT_EQ(parsed(std::string_view("a\0b", 3)), "!E0211:0");
  EXPECT_EQ(parsed("a=\xFF"), "!E0211:0");
}

TEST(PropertyTable, AsksDefinesThenFilesThenTheEnvironment) {
  PropertyTable table([](std::string_view name) -> std::optional<std::string> {
    if (name == "DB_HOST") return "from-env";
    if (name == "exact") return "exact";
    return std::nullopt;
  });
  Diagnostics diagnostics;
  EXPECT_EQ(table.property("db.host"), "from-env");
  EXPECT_EQ(table.environment("db-host"), "from-env");
  EXPECT_EQ(table.environment("exact"), "exact");
  table.read("db.host=file\nx=1\nx=2", "application.properties", diagnostics);
  table.read("db.host=later file\ny=3", "other.properties", diagnostics);
  EXPECT_EQ(table.property("db.host"), "file");
  EXPECT_EQ(table.property("x"), "2");
  EXPECT_EQ(table.property("y"), "3");
  table.define("db.host", "-D");
  EXPECT_EQ(table.property("db.host"), "-D");
  EXPECT_EQ(table.property("none"), std::nullopt);
  EXPECT_EQ(table.names(), (std::vector<std::string>{"db.host", "x", "y"}));
}

}  // namespace
}  // namespace drom
