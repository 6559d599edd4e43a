#include "spi/exception_match.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

Error error_of(ErrorKind kind, std::string type = {}) {
  Error error(kind, "it failed");
  error.type = std::move(type);
  return error;
}

struct Case {
  const char* written;
  ErrorKind kind;
  const char* type;
  bool matches;
};

TEST(ExceptionMatch, FollowsTheTable) {
  const Case cases[] = {
      {"java.lang.Exception", ErrorKind::bug, "", true},
      {"java.lang.Throwable", ErrorKind::data, "", true},
      {"Exception", ErrorKind::not_connected, "", true},
      {"java.io.IOException", ErrorKind::not_connected, "", true},
      {"java.io.IOException", ErrorKind::timeout, "", true},
      {"java.io.IOException", ErrorKind::data, "", false},
      {"java.net.ConnectException", ErrorKind::not_connected, "", true},
      {"java.net.ConnectException", ErrorKind::timeout, "", false},
      {"java.util.concurrent.TimeoutException", ErrorKind::timeout, "", true},
      {"java.lang.IllegalArgumentException", ErrorKind::data, "", true},
      {"java.lang.RuntimeException", ErrorKind::not_connected, "", false},
      // Thrown classes: by their ancestors, not by their kind.
      {"java.io.IOException", ErrorKind::rejected, "java.io.FileNotFoundException", true},
      {"java.lang.RuntimeException", ErrorKind::data, "java.lang.NumberFormatException", true},
      {"java.lang.IllegalArgumentException", ErrorKind::data, "NumberFormatException", true},
      {"java.io.IOException", ErrorKind::data, "java.lang.NumberFormatException", false},
      // Classes of the user.
      {"com.acme.Broken", ErrorKind::rejected, "com.acme.Broken", true},
      {"Broken", ErrorKind::rejected, "com.acme.Broken", true},
      {"com.other.Broken", ErrorKind::rejected, "com.acme.Broken", false},
      {"java.lang.RuntimeException", ErrorKind::rejected, "com.acme.Broken", true},
      {"java.lang.Exception", ErrorKind::rejected, "com.acme.Broken", true},
      // Codes.
      {"java.sql.SQLException", ErrorKind::rejected, "23505", true},
      {"java.sql.SQLException", ErrorKind::transient, "SQLITE_BUSY", true},
      {"java.sql.SQLException", ErrorKind::rejected, "", false},
      {"java.sql.SQLIntegrityConstraintViolationException", ErrorKind::rejected, "23505", true},
      {"java.sql.SQLIntegrityConstraintViolationException", ErrorKind::rejected, "42601", false},
      {"java.sql.SQLIntegrityConstraintViolationException", ErrorKind::rejected,
       "SQLITE_CONSTRAINT_UNIQUE", true},
      {"23505", ErrorKind::rejected, "23505", true},
      // Kinds of ours.
      {"transient", ErrorKind::transient, "", true},
      {"transient", ErrorKind::timeout, "", false},
      {"retryable", ErrorKind::timeout, "", true},
      // Nothing.
      {"com.acme.Unknown", ErrorKind::data, "", false},
      {"", ErrorKind::data, "", false},
  };
  for (const Case& c : cases)
    EXPECT_EQ(matches_exception(c.written, error_of(c.kind, c.type)), c.matches)
        << c.written << " against " << to_string(c.kind) << " '" << c.type << "'";
}

TEST(ExceptionMatch, CatchesNothingWhileTheEngineStops) {
  EXPECT_FALSE(matches_exception("java.lang.Throwable", error_of(ErrorKind::cancelled)));
  EXPECT_FALSE(matches_exception("X", error_of(ErrorKind::cancelled, "X")));
}

TEST(ExceptionMatch, PutsTheClosestNameFirst) {
  const Error refused = error_of(ErrorKind::not_connected);
  const auto connect = exception_distance("java.net.ConnectException", refused);
  const auto io = exception_distance("java.io.IOException", refused);
  const auto all = exception_distance("java.lang.Exception", refused);
  ASSERT_TRUE(connect && io && all);
  EXPECT_LT(*connect, *io);
  EXPECT_LT(*io, *all);
}

TEST(ExceptionMatch, GivesThrownClassesTheKindOfTheirCounterpart) {
  EXPECT_EQ(kind_of_exception("java.net.ConnectException"), ErrorKind::not_connected);
  EXPECT_EQ(kind_of_exception("java.lang.IllegalArgumentException"), ErrorKind::data);
  EXPECT_EQ(kind_of_exception("com.acme.Broken"), ErrorKind::rejected);
}

}  // namespace
}  // namespace drom
