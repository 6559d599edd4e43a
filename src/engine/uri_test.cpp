#include "engine/uri.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

TEST(EndpointUri, SplitsSchemePathAndQuery) {
  const EndpointUri uri = split_uri("timer:tick?period=1s&delay=0");
  EXPECT_EQ(uri.scheme, "timer");
  EXPECT_EQ(uri.path, "tick");
  EXPECT_EQ(uri.query, (Query{{"period", "1s"}, {"delay", "0"}}));
}

TEST(EndpointUri, DropsTheSlashesOfAnAuthority) {
  EXPECT_EQ(split_uri("direct://start").path, "start");
  EXPECT_EQ(split_uri("file:///var/in").path, "/var/in");
}

TEST(EndpointUri, KeepsTheWholeTargetForHttp) {
  const EndpointUri uri = split_uri("https://host:8443/a/b?x=http://y?z=1&w=2");
  EXPECT_EQ(uri.target, "https://host:8443/a/b");
  EXPECT_EQ(uri.query, (Query{{"x", "http://y?z=1"}, {"w", "2"}}));
}

TEST(EndpointUri, LeavesQuestionMarksOfSqlInThePath) {
  const EndpointUri uri = split_uri("sql:select * from t where a = ? and b = :?x?dataSource=#db");
  EXPECT_EQ(uri.path, "select * from t where a = ? and b = :?x");
  EXPECT_EQ(uri.query, (Query{{"dataSource", "#db"}}));
}

TEST(EndpointUri, DecodesValuesButNotRawOnes) {
  const EndpointUri uri = split_uri("x:y?a=1%2B1+2&b=RAW(p&q=(r)%2B)&c=3");
  EXPECT_EQ(uri.query, (Query{{"a", "1+1 2"}, {"b", "p&q=(r)%2B"}, {"c", "3"}}));
}

TEST(EndpointUri, KeepsAmpersandsInsideExpressions) {
  const EndpointUri uri = split_uri("outbox:o?key=${body[a] && body[b]}&type=t");
  EXPECT_EQ(uri.query, (Query{{"key", "${body[a] && body[b]}"}, {"type", "t"}}));
}

TEST(EndpointUri, AcceptsASchemeAlone) {
  EXPECT_EQ(split_uri("direct").scheme, "direct");
  EXPECT_EQ(split_uri("direct").path, "");
}

}  // namespace
}  // namespace drom
