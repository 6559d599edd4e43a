#include <gtest/gtest.h>

#include "config/test_support.hpp"

namespace drom {
namespace {

using testing::at;

TEST(Location, IsWrittenAsFarAsItIsKnown) {
  EXPECT_EQ(Location().text(), "");
  EXPECT_EQ(at(0, 0).text(), "r.yaml");
  EXPECT_EQ(at(3, 0).text(), "r.yaml:3");
  EXPECT_EQ(at(3, 7).text(), "r.yaml:3:7");
}

TEST(Diagnostics, ShowTheLineACaretAndTheHint) {
  Diagnostics d;
  d.add_source("r.yaml", "- to:\n    uri: kafka\n    topc: orders\n");
  d.error("E0201", at(3, 5), "unknown option 'topc' for kafka", "did you mean 'topic'?");
  EXPECT_EQ(d.render(),
            "error[E0201] r.yaml:3:5: unknown option 'topc' for kafka\n"
            "    3 |     topc: orders\n"
            "      |     ^\n"
            "  hint: did you mean 'topic'?\n"
            "1 error\n");
}

TEST(Diagnostics, StandInTheOrderOfTheirPlacesAndAreCounted) {
  Diagnostics d;
  d.error("E0202", at(9, 1), "second");
  d.warning("E0311", at(2, 5), "first");
  d.error("E0202", at(1, 1, "b.yaml"), "third");
  d.error("E0202", at(9, 1), "second");
  EXPECT_TRUE(d.has_errors());
  EXPECT_EQ(d.render(),
            "warning[E0311] r.yaml:2:5: first\n"
            "error[E0202] r.yaml:9:1: second\n"
            "error[E0202] b.yaml:1:1: third\n"
            "2 errors, 1 warning\n");
}

TEST(Diagnostics, OnlyWarningsAreNoErrors) {
  Diagnostics d;
  EXPECT_EQ(d.render(), "");
  d.warning("E0311", at(1, 1), "w");
  EXPECT_FALSE(d.has_errors());
}

TEST(Diagnostics, PutTheCaretUnderCharactersNotBytes) {
  Diagnostics d;
  d.add_source("r.yaml", "größe: x\n");
  d.error("E0201", at(1, 8), "here");
  EXPECT_NE(d.render().find("    1 | größe: x\n      |        ^\n"), std::string::npos)
      << d.render();
}

TEST(Diagnostics, CutLongLinesAroundThePlace) {
  Diagnostics d;
  d.add_source("r.yaml", std::string(100'000, 'a') + "X" + std::string(100'000, 'b'));
  d.error("E0201", at(1, 100'001), "here");
  const std::string text = d.render();
  EXPECT_LT(text.size(), 500U);
  EXPECT_NE(text.find("aX"), std::string::npos);
}

TEST(Diagnostics, LetNoControlCharactersThrough) {
  Diagnostics d;
  d.add_source("r.yaml", "a: \x1b[31mred\n");
  d.error("E0201", at(1, 4), "bad \x1b]0;title\x07 value\nsecond line");
  EXPECT_EQ(d.render().find('\x1b'), std::string::npos);
  EXPECT_EQ(d.render().find('\x07'), std::string::npos);
}

// C58: a wrong option beside a password must not print the password.
TEST(Diagnostics, MaskSecretsOfTheLineAndOfTheMessage) {
  Diagnostics d;
  d.add_source("r.yaml",
               "- to: \"rabbitmq://svc:p:a@ss@host:5672/q?x=1&api-key=K1SECRET&note=a}b\"\n");
  d.error("E0201", at(1, 7), "cannot use 'http://u:pw9@h/?token=T2SECRET&y=2'", "see password=P3");
  const std::string text = d.render();
  for (const char* secret : {"p:a", "a@ss", "K1SECRET", "pw9", "T2SECRET", "P3"})
    EXPECT_EQ(text.find(secret), std::string::npos) << secret << " in\n" << text;
  for (const char* harmless : {"host:5672/q?x=1", "note=a}b", "y=2"})
    EXPECT_NE(text.find(harmless), std::string::npos) << harmless << " in\n" << text;
}

TEST(Diagnostics, ShowNoLineThatHoldsASecret) {
  Diagnostics d;
  d.add_source("r.yaml", "pin: 1234x\n");
  d.add({Severity::error, "E0203", at(1, 6), "'pin' must be a whole number", "", true});
  EXPECT_EQ(d.render().find("1234x"), std::string::npos);
}

TEST(Diagnostics, AreManyWithoutEnd) {
  Diagnostics d;
  for (uint32_t i = 1; i <= 5000; ++i) d.error("E0201", at(i, 1), "wrong");
  EXPECT_LT(d.render().size(), 10'000U);
  EXPECT_NE(d.render().find("5000 errors"), std::string::npos);
}

TEST(DidYouMean, NamesTheNearestOrAShortList) {
  EXPECT_EQ(did_you_mean("topc", {"topic", "brokers"}), "did you mean 'topic'?");
  EXPECT_EQ(did_you_mean("poll-interval", {"pollInterval"}), "did you mean 'pollInterval'?");
  EXPECT_EQ(did_you_mean("setbody", {"setBody", "setHeader"}), "did you mean 'setBody'?");
  EXPECT_EQ(did_you_mean("zzzzzz", {"a", "b"}), "known: a, b");
  EXPECT_EQ(did_you_mean("zzzzzz", {}), "");
}

}  // namespace
}  // namespace drom
