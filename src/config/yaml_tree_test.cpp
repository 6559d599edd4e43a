#include "config/yaml_tree.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

using namespace std::string_view_literals;

// "a=1:1 [x y]" for what was read, or the codes and places of the problems.
std::string shown(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return "~";
    case YamlNode::Kind::scalar: return node.text;
    case YamlNode::Kind::list: {
      std::string out = "[";
      for (const YamlNode& item : node.items) out += (out.size() > 1 ? " " : "") + shown(item);
      return out + "]";
    }
    case YamlNode::Kind::map: {
      std::string out = "{";
      for (const YamlEntry& entry : node.entries)
        out += (out.size() > 1 ? " " : "") + entry.name + "=" + shown(entry.value);
      return out + "}";
    }
  }
  return "";
}

std::string parsed(std::string_view text) {
  Diagnostics diagnostics;
  const auto root = parse_yaml(text, std::make_shared<const std::string>("r"), diagnostics);
  std::string out = root ? shown(*root) : "";
  for (const Diagnostic& item : diagnostics.items())
    out += " " + item.code + "@" + item.where.text();
  return out;
}

TEST(YamlTree, HoldsMapsListsTextsAndNulls) {
  EXPECT_EQ(parsed("- a: 1\n  b: [x, \"y z\", 'q']\n- c:\n- ~"), "[{a=1 b=[x y z q]} {c=~} ~]");
  EXPECT_EQ(parsed("a: |\n  one\n  two\nb: >\n  three\n  four\n"), "{a=one\ntwo\n b=three four\n}");
  EXPECT_EQ(parsed("[[[a], b]]"), "[[[a] b]]");
  EXPECT_EQ(parsed(""), "~");
  EXPECT_EQ(parsed("# only a comment\n"), "~");
  EXPECT_EQ(parsed("---\n- a\n"), "[a]");
}

TEST(YamlTree, KnowsThePlaceOfEveryNode) {
  Diagnostics diagnostics;
  const auto root = parse_yaml("- to:\n    uri: \"x\"\n    größe: {a: 1}\n    none:\n",
                               std::make_shared<const std::string>("r"), diagnostics);
  ASSERT_TRUE(root);
  const YamlEntry& to = root->items[0].entries[0];
  EXPECT_EQ(to.name_where.text(), "r:1:3");
  EXPECT_EQ(to.value.entries[0].name_where.text(), "r:2:5");
  EXPECT_EQ(to.value.entries[0].value.where.text(), "r:2:10");
  EXPECT_EQ(to.value.entries[1].value.entries[0].name_where.text(), "r:3:13");
  EXPECT_EQ(to.value.entries[2].value.where.text(), "r:4:5");  // of the name: there is no value
}

TEST(YamlTree, RefusesAnchorsAliasesAndTags) {
  EXPECT_EQ(parsed("a: &x 1"), " E0104@r:1:4");
  EXPECT_EQ(parsed("a: *x"), " E0104@r:1:4");
  EXPECT_EQ(parsed("a: !!binary x"), " E0105@r:1:4");
  EXPECT_EQ(parsed("a: !x [1]"), " E0105@r:1:4");
  // The bomb: stopped at the first anchor.
  EXPECT_EQ(parsed("a: &a [x,x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]"), " E0104@r:1:4");
}

TEST(YamlTree, RefusesNamesGivenTwiceButReadsOn) {
  EXPECT_EQ(parsed("a: 1\nb: 2\na: 3\nc: 4"), "{a=1 b=2 c=4} E0106@r:3:1");
}

TEST(YamlTree, RefusesFurtherDocuments) {
  EXPECT_EQ(parsed("- a\n---\n- b\n").substr(0, 6), " E0108");
  EXPECT_EQ(parsed("- a\n---\n"), "[a]");
  EXPECT_EQ(parsed("- a\n...\n"), "[a]");
}

TEST(YamlTree, RefusesWhatIsNoPlainUtf8) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF- a"), " E0102@r:1:1");
  EXPECT_EQ(parsed("\xFF\xFE-\0a\0"sv), " E0102@r:1:1");
  EXPECT_EQ(parsed("\xFE\xFF\0-"sv), " E0102@r:1:1");
  EXPECT_EQ(parsed("- a\n- b\0c"sv), " E0102@r:2:4");
  EXPECT_EQ(parsed("- a\n- \xC3("), " E0102@r:2:3");
  EXPECT_EQ(parsed("- a\x1b[0m"), " E0102@r:1:4");
}

TEST(YamlTree, NamesTheTabInTheIndentation) {
  EXPECT_EQ(parsed("- route:\n    from:\n\turi: x\n"), " E0103@r:3:1");
  EXPECT_EQ(parsed("- a:\n  \t- b: 1\n    c: 2\n").substr(0, 6), " E0103");
  EXPECT_EQ(parsed("a: |\n  x\n  \ty\n"), "{a=x\n\ty\n}");
}

TEST(YamlTree, ReportsBrokenYamlAtItsPlace) {
  EXPECT_EQ(parsed("a: b: c"), " E0101@r:1:5");
  EXPECT_EQ(parsed("a: [1, 2").substr(0, 6), " E0101");
  EXPECT_EQ(parsed("a: \"open").substr(0, 6), " E0101");
  EXPECT_EQ(parsed("a: @x").substr(0, 6), " E0101");
  EXPECT_EQ(parsed("? [a]\n: b").substr(0, 6), " E0101");
  EXPECT_EQ(parsed("a:\n  - b\n c: d").substr(0, 6), " E0101");
}

TEST(YamlTree, HasLimits) {
  EXPECT_EQ(parsed(std::string(150, '[') + std::string(150, ']')), " E0107@r:1:101");
  EXPECT_EQ(parsed(std::string(200'000, '[')).substr(0, 6), " E0107");
  std::string indented;
  for (int i = 0; i < 150; ++i) indented += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(parsed(indented).substr(0, 6), " E0107");
  std::string many = "[";
  for (int i = 0; i < 110'000; ++i) many += "a,";
  EXPECT_EQ(parsed(many + "a]").substr(0, 6), " E0107");
  EXPECT_EQ(parsed(std::string((size_t{1} << 20) + 1, 'a')), " E0107@r:1:1");
}

}  // namespace
}  // namespace drom
