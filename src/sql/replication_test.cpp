#include "sql/replication.hpp"

#include <gtest/gtest.h>

namespace drom::sql {
namespace {

TEST(Replication, PlacesInTheLogAreWrittenLikeTheServerDoes) {
  EXPECT_EQ(lsn_text(0x16B374D848), "16/B374D848");
  EXPECT_EQ(lsn_text(0), "0/0");
  EXPECT_EQ(parse_lsn("16/B374D848"), Lsn{0x16B374D848});
  EXPECT_EQ(parse_lsn("0/0"), Lsn{0});
  for (const char* wrong : {"", "/", "16", "16/", "/1", "16/G", "x/1", "1/1/1", "100000000/0"})
    EXPECT_FALSE(parse_lsn(wrong)) << wrong;
}

}  // namespace
}  // namespace drom::sql
