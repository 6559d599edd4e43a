#include "config/secrets.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

TEST(Secrets, AreKnownByName) {
  for (const char* name : {"password", "sslKeyPassword", "api-key", "API_KEY", "Authorization",
                           "clientSecret", "access.token"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"key", "tokenize", "note", "topic", "user"})
    EXPECT_FALSE(is_secret_name(name)) << name;
}

// C58
TEST(Secrets, AreMaskedInUris) {
  EXPECT_EQ(mask_secrets("rabbitmq://svc:p:a@ss@host:5672/"
                         "q?x=1&api-key=K1SECRET&authorization=Bearer%20T2SECRET&note=a}b"),
            "rabbitmq://svc:******@host:5672/"
            "q?x=1&api-key=********&authorization=*****************&note=a}b");
  EXPECT_EQ(mask_secrets("sql:x?password=RAW(a&b)c)&y=1"), "sql:x?password=**********&y=1");
  EXPECT_EQ(mask_secrets("http://host:80/a@b"), "http://host:80/a@b");
}

TEST(Secrets, AreMaskedInYamlAndJson) {
  EXPECT_EQ(mask_secrets("  password: my, secret"), "  password: **********");
  EXPECT_EQ(mask_secrets("{\"token\": \"abc\"}"), "{\"token\": ******");
  EXPECT_EQ(mask_secrets("tokenize: \",\""), "tokenize: \",\"");
}

TEST(Secrets, OfPlaceholdersStayReadable) {
  EXPECT_EQ(mask_secrets("password: \"{{db.password}}\""), "password: \"{{db.password}}\"");
  EXPECT_EQ(mask_secrets("x?password={{p}}&y=1"), "x?password={{p}}&y=1");
}

}  // namespace
}  // namespace drom
