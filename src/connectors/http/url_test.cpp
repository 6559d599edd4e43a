#include "connectors/http/url.hpp"

#include <gtest/gtest.h>

namespace drom::http {
namespace {

std::string parts(std::string_view text) {
  Result<Url> url = parse_url(text);
  if (!url) return "error: " + url.error().what;
  return std::string(url->target.tls ? "tls " : "plain ") + url->target.host + " " +
         std::to_string(url->target.port) + " " + url->path + " " + url->target.authority();
}

TEST(HttpUrl, Splits) {
  EXPECT_EQ(parts("http://h"), "plain h 80 / h");
  EXPECT_EQ(parts("https://h/a/b"), "tls h 443 /a/b h");
  EXPECT_EQ(parts("http:h:81/a b"), "plain h 81 /a%20b h:81");
  EXPECT_EQ(parts("HTTPS://h:8443?x=1&y=a?b#f"), "tls h 8443 /?x=1&y=a?b h:8443");
  EXPECT_EQ(parts("http://[::1]:80/a"), "plain ::1 80 /a [::1]");
}

TEST(HttpUrl, RefusesWhatIsNoPlainTarget) {
  for (const char* text : {"ftp://h", "h/a", "http://", "http:///a", "http://h:0", "http://h:99999",
                           "http://h:x", "http://[::1", "http://a b/"})
    EXPECT_EQ(parts(text).substr(0, 6), "error:") << text;
}

TEST(HttpUrl, NeverTellsAPassword) {
  const std::string text = parts("http://user:s3cret@h/");
  EXPECT_EQ(text.substr(0, 6), "error:");
  EXPECT_EQ(text.find("s3cret"), std::string::npos);
}

TEST(HttpUrl, KnowsSecretNames) {
  for (const char* name :
       {"api-key", "apiKey", "Authorization", "access_token", "PASSWORD", "client.secret"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"x", "note", "host", "key", "sort"})
    EXPECT_FALSE(is_secret_name(name)) << name;
}

}  // namespace
}  // namespace drom::http
