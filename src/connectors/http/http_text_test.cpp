#include "connectors/http/http_text.hpp"

#include <gtest/gtest.h>

namespace drom::http {
namespace {

std::string header(std::string_view name, const Value& value) {
  std::string out;
  return append_header(out, name, value) ? out : "refused:" + out;
}

TEST(HttpText, DecodesEscapesAndRefusesBadOnes) {
  EXPECT_EQ(percent_decode("a%20b%2Fc", false), "a b/c");
  EXPECT_EQ(percent_decode("a+b", false), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  EXPECT_EQ(percent_decode("%", false), std::nullopt);
  EXPECT_EQ(percent_decode("%4", false), std::nullopt);
  EXPECT_EQ(percent_decode("%zz", false), std::nullopt);
  EXPECT_EQ(percent_decode("a%00b", false), std::nullopt);
  EXPECT_EQ(percent_decode("a%0d%0ab", false), std::nullopt);
}

TEST(HttpText, EncodesQueriesStrictlyAndPathsKeepingEscapes) {
  EXPECT_EQ(encode_query("a b&c=d+e%20#\xc3\xa9"), "a%20b%26c%3Dd%2Be%2520%23%C3%A9");
  EXPECT_EQ(encode_path("/a b/%20/%zz"), "/a%20b/%20/%25zz");
}

TEST(HttpText, MatchesMediaTypesWithoutTheirParameters) {
  EXPECT_TRUE(media_type_matches("application/json", "Application/JSON; charset=utf-8"));
  EXPECT_TRUE(media_type_matches("application/xml, text/*", "text/csv"));
  EXPECT_TRUE(media_type_matches("*/*", "image/png"));
  EXPECT_FALSE(media_type_matches("application/json", "application/jsonx"));
  EXPECT_FALSE(media_type_matches("text/*", "texture/x"));
  EXPECT_FALSE(media_type_matches("application/json", ""));
}

TEST(HttpText, WritesHeadersByTheKindOfTheirValue) {
  EXPECT_EQ(header("X", Value("a b")), "X: a b\r\n");
  EXPECT_EQ(header("X", Value(7)), "X: 7\r\n");
  EXPECT_EQ(header("X", Value(true)), "X: true\r\n");
  EXPECT_EQ(header("X", Value("")), "X: \r\n");
  EXPECT_EQ(header("X", Value()), "");
  EXPECT_EQ(header("Set-Cookie", Value(List{"a=1", "b=2"})),
            "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
}

// Case C52: bytes that are text stay text; others become base64, where the protocol needs text.
TEST(HttpText, WritesBytesAsTextOrBase64) {
  EXPECT_EQ(header("tenant", Value(Bytes(std::string("abc")))), "tenant: abc\r\n");
  EXPECT_EQ(header("bin", Value(Bytes(std::string("\xff\x00", 2)))), "bin: /wA=\r\n");
}

TEST(HttpText, RefusesHeadersThatWouldBreakTheMessage) {
  EXPECT_EQ(header("X", Value("a\r\nY: b")), "refused:");
  EXPECT_EQ(header("X", Value(std::string("a\0b", 3))), "refused:");
  EXPECT_EQ(header("X Y", Value("a")), "refused:");
  EXPECT_EQ(header("X\r\nY", Value("a")), "refused:");
  EXPECT_EQ(header("", Value("a")), "refused:");
}

TEST(HttpText, WritesAndReadsDates) {
  const WallTime time = *parse_iso8601("1994-11-06T08:49:37Z");
  EXPECT_EQ(http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), time);
  EXPECT_EQ(parse_http_date("Sun, 31 Feb 1994 08:49:37 GMT"), std::nullopt);
  EXPECT_EQ(parse_http_date("yesterday"), std::nullopt);
}

TEST(HttpText, ReadsRetryAfterAsSecondsOrDate) {
  const WallTime now = *parse_iso8601("1994-11-06T08:49:30Z");
  EXPECT_EQ(parse_retry_after("7", now), milliseconds(7000));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", now), milliseconds(7000));
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:07 GMT", now), milliseconds(0));
  EXPECT_EQ(parse_retry_after("99999999999", now), milliseconds(86'400'000));
  EXPECT_EQ(parse_retry_after("-1", now), std::nullopt);
  EXPECT_EQ(parse_retry_after("", now), std::nullopt);
}

}  // namespace
}  // namespace drom::http
