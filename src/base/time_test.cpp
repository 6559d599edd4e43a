#include "drom/base/time.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

TEST(Iso8601, WritesAndReadsBack) {
  for (const char* text : {"1970-01-01T00:00:00.000Z", "2026-11-30T12:34:56.789Z",
                           "1969-12-31T23:59:59.999Z", "2024-02-29T00:00:00.000001Z"}) {
    const Result<WallTime> time = parse_iso8601(text);
    ASSERT_TRUE(time.ok()) << text;
    EXPECT_EQ(to_iso8601(*time), text);
  }
}

TEST(Iso8601, ReadsOffsetsSpacesAndDates) {
  EXPECT_EQ(to_iso8601(*parse_iso8601("2026-11-30 12:00:00+02:00")), "2026-11-30T10:00:00.000Z");
  EXPECT_EQ(to_iso8601(*parse_iso8601("2026-11-30T12:00-0330")), "2026-11-30T15:30:00.000Z");
  EXPECT_EQ(to_iso8601(*parse_iso8601("2026-11-30")), "2026-11-30T00:00:00.000Z");
}

TEST(Iso8601, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026", "2026-13-01", "2026-02-30", "2026-11-30T25:00", "2026-11-30T12:00:00.Z",
        "2026-11-30T12:00:00Zx", "2026-11-30T12:00:00+99:00"})
    EXPECT_FALSE(parse_iso8601(text).ok()) << text;
}

TEST(Duration, ReadsCamelsForms) {
  EXPECT_EQ(*parse_duration("500"), milliseconds(500));
  EXPECT_EQ(*parse_duration("500ms"), milliseconds(500));
  EXPECT_EQ(*parse_duration("1m30s"), milliseconds(90'000));
  EXPECT_EQ(*parse_duration("1d2h"), milliseconds(93'600'000));
}

TEST(Duration, RefusesUnknownUnitsSignsAndOverflow) {
  for (const char* text :
       {"", "5x", "-5s", "s", "1.5s", "99999999999999999999", "9223372036854775807d", "5s3"})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
}

TEST(Duration, IsWrittenInTheLargestUnits) {
  EXPECT_EQ(to_string(milliseconds(90'500)), "1m30s500ms");
  EXPECT_EQ(to_string(milliseconds(0)), "0ms");
}

}  // namespace
}  // namespace drom
