#include "drom/base/json.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

std::string round_trip(std::string_view text) {
  const Result<Value> parsed = parse_json(text);
  return parsed ? to_json(*parsed) : "error: " + parsed.error().what;
}

TEST(Json, KeepsNumbersDigitByDigit) {
  for (const char* text :
       {"0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "12345678901234567890123", "1.10", "1e5", "-0.000000000000000000001"})
    EXPECT_EQ(round_trip(text), text);
  EXPECT_TRUE(parse_json("12")->is_int());
  EXPECT_EQ(parse_json("1.10")->as_decimal()->digits, "1.10");
}

TEST(Json, KeepsOrderAndEscapes) {
  EXPECT_EQ(round_trip(R"({"b":1,"a":[true,null,"x\ny\u0001\"\\"]})"),
            R"({"b":1,"a":[true,null,"x\ny\u0001\"\\"]})");
  EXPECT_EQ(round_trip(R"("\ud83d\ude00")"), "\"\xF0\x9F\x98\x80\"");
}

TEST(Json, RefusesWhatRfc8259Refuses) {
  for (const char* text :
       {"", " ", "{", "[1,]", "{\"a\":1,}", "NaN", "Infinity", "01", "1.", "+1", "'a'", "{a:1}",
        "\"\x01\"", "\"\\x\"", "1 2", "/*c*/1", "\"\xff\"", "\"\\ud800\"", "tru"}) {
    const Result<Value> parsed = parse_json(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::data) << text;
  }
}

TEST(Json, RefusesDuplicateKeysAlsoInLargeObjects) {
  EXPECT_NE(parse_json(R"({"a":1,"a":2})").error().what.find("'a'"), std::string::npos);
  EXPECT_FALSE(parse_json(R"({"":1,"":2})").ok());
  std::string large = "{";
  for (int i = 0; i < 100; ++i) large += "\"k" + std::to_string(i) + "\":0,";
  EXPECT_TRUE(parse_json(large + "\"last\":1}").ok());
  EXPECT_NE(parse_json(large + "\"k7\":1}").error().what.find("'k7'"), std::string::npos);
}

TEST(Json, BoundsTheDepth) {
  const std::string deep(kJsonDepthMax + 1, '[');
  EXPECT_NE(parse_json(deep).error().what.find("nested deeper"), std::string::npos);
  EXPECT_TRUE(parse_json("[[[]]]", 3).ok());
  EXPECT_FALSE(parse_json("[[[]]]", 2).ok());
}

TEST(Json, NamesTheByteOfTheMistake) {
  EXPECT_NE(parse_json("[1,x]").error().what.find("at byte 3"), std::string::npos);
}

TEST(Json, WritesBytesAsBase64AndTimesAsIso) {
  EXPECT_EQ(to_json(Value(Bytes(std::string("a")))), "\"YQ==\"");
  EXPECT_EQ(to_json(Value(Bytes(std::string("abcd")))), "\"YWJjZA==\"");
  EXPECT_EQ(to_json(Value(WallTime{})), "\"1970-01-01T00:00:00.000Z\"");
}

TEST(Json, IndentsForPeople) {
  EXPECT_EQ(to_json_pretty(*parse_json(R"({"a":[1,2],"b":{},"c":[]})")),
            "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": []\n}");
}

}  // namespace
}  // namespace drom
