#include "expr/regex.hpp"

#include <gtest/gtest.h>

namespace drom::expr {
namespace {

TEST(Regex, MatchesWholeTextsAsJavaDoes) {
  const Regex regex = *Regex::compile("^\\d{3}");
  EXPECT_TRUE(*regex.matches_all("123"));
  EXPECT_FALSE(*regex.matches_all("1234"));
  EXPECT_TRUE(*regex.found_in("1234"));
  EXPECT_TRUE(*Regex::compile("ab+", true)->matches_all("ABB"));
  EXPECT_TRUE(*Regex::compile("(?i)ab")->matches_all("AB"));
  EXPECT_TRUE(*Regex::compile("")->matches_all(""));
}

TEST(Regex, ReplacesAndSplits) {
  const Regex digits = *Regex::compile("(\\d)");
  EXPECT_EQ(*digits.replace("a1b2", "<$1>", false), "a<1>b<2>");
  EXPECT_EQ(*digits.replace("a1b2", "-", true), "a-b2");
  EXPECT_EQ(*Regex::compile("x*")->replace("ab", "-", false), "-a-b-");
  EXPECT_EQ(*Regex::compile("\\s*,\\s*")->split("a , b,,c,,"),
            (std::vector<std::string>{"a", "b", "", "c"}));
  EXPECT_EQ(*digits.split("abc"), (std::vector<std::string>{"abc"}));
}

TEST(Regex, WrongAndLargePatternsAreDataErrors) {
  for (const std::string& pattern : {std::string("("), std::string("a{2,1}"), std::string("[z-a]"),
                                     std::string("(?<n"), std::string("\\"), std::string(5000, 'a'),
                                     std::string(2000, '(') + std::string(2000, ')')}) {
    const Result<Regex> regex = Regex::compile(pattern);
    ASSERT_FALSE(regex.ok()) << pattern;
    EXPECT_EQ(regex.error().kind, ErrorKind::data);
  }
}

TEST(Regex, HostileTextsEndInAnErrorInsteadOfAHang) {
  const std::string text = std::string(50'000, 'a') + "!";
  for (const std::string& pattern :
       {std::string("(a+)+b"), std::string("(a|a)*b"), std::string("(.*a){20}b"),
        std::string("(a*)*c"), std::string(200, 'a') + "?(a+)+b|(x+x+)+y"}) {
    const Result<bool> answer = Regex::compile(pattern)->matches_all(text);
    ASSERT_FALSE(answer.ok()) << pattern;
    EXPECT_EQ(answer.error().kind, ErrorKind::data);
  }
  EXPECT_FALSE(Regex::compile("a")->matches_all(std::string(kRegexTextMax + 1, 'a')).ok());
  EXPECT_FALSE(
      Regex::compile("a")->replace(std::string(1000, 'a'), std::string(10'000, 'b'), false).ok());
}

TEST(Regex, LargeTextsWithOrdinaryPatternsAreFine) {
  const std::string text = std::string(500'000, 'x') + "error" + std::string(500'000, 'y');
  EXPECT_TRUE(*Regex::compile(".*error.*")->matches_all(text));
  EXPECT_FALSE(*Regex::compile(".*failure.*")->matches_all(text));
  EXPECT_TRUE(*Regex::compile("[a-z]+")->matches_all(text));
}

}  // namespace
}  // namespace drom::expr
