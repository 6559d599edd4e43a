#include "config/source_text.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

Place inside(std::string_view source, Place scalar, std::string_view text, size_t offset) {
  const auto found = SourceText(source).inside_scalar(scalar, text, offset);
  return found ? *found : Place{};
}

TEST(SourceText, GivesLinesAndPlaces) {
  const SourceText text(
      "ab\r\nc\xC3\xA4"
      "d\n");
  EXPECT_EQ(text.line(1), "ab");
  EXPECT_EQ(text.line(2),
            "c\xC3\xA4"
            "d");
  EXPECT_EQ(text.line(0), "");
  EXPECT_EQ(text.line(9), "");
  EXPECT_EQ(text.place(7), (Place{2, 3}));  // the d: columns count characters
  EXPECT_EQ(text.byte({2, 3}), 7U);
  EXPECT_EQ(text.byte({2, 99}), std::nullopt);
}

TEST(SourceText, FindsAPlaceInAPlainText) {
  EXPECT_EQ(inside("- simple: ${x} y", {1, 11}, "${x} y", 5), (Place{1, 16}));
  EXPECT_EQ(inside("a: one\n   two", {1, 4}, "one two", 4), (Place{2, 4}));
}

TEST(SourceText, FollowsQuotesAndEscapes) {
  EXPECT_EQ(inside("a: 'it''s X'", {1, 4}, "it's X", 5), (Place{1, 11}));
  EXPECT_EQ(inside(R"(a: "q\"\u00e4 X")", {1, 4}, "q\"\xC3\xA4 X", 5), (Place{1, 15}));
  EXPECT_EQ(inside("a: \"one\n   two\"", {1, 4}, "one two", 4), (Place{2, 4}));
}

TEST(SourceText, FollowsBlockTexts) {
  EXPECT_EQ(inside("a: |\n  one\n  two X\nb: 1", {1, 4}, "one\ntwo X\n", 8), (Place{3, 7}));
  EXPECT_EQ(inside("a: >-\n  one\n  two X\nb: 1", {1, 4}, "one two X", 8), (Place{3, 7}));
}

TEST(SourceText, FindsAPartOfATextAndItsEnd) {
  EXPECT_EQ(inside("to: \"seda:x?size=ten\"", {1, 5}, "ten", 0), (Place{1, 18}));
  EXPECT_EQ(inside("a: '${x'", {1, 4}, "${x", 3), (Place{1, 8}));
}

TEST(SourceText, DoesNotGuess) {
  EXPECT_FALSE(SourceText("a: b").inside_scalar({1, 4}, "other", 0));
  EXPECT_FALSE(SourceText("a: b").inside_scalar({7, 1}, "b", 0));
  EXPECT_FALSE(SourceText("a: b").inside_scalar({1, 99}, "b", 0));
}

}  // namespace
}  // namespace drom
