#include "machines/progress_watch.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

using std::chrono::seconds;

TEST(ProgressWatch, IdleIsNeverStuck) {
  ProgressWatch watch(seconds(30));
  const SteadyTime start{seconds(100)};
  watch.observe(false, start);
  EXPECT_FALSE(watch.stuck(start + std::chrono::hours(1)));
}

TEST(ProgressWatch, WorkWithoutProgressIsStuckAfterTheLimit) {
  ProgressWatch watch(seconds(30));
  const SteadyTime start{seconds(100)};
  watch.observe(true, start);
  watch.observe(true, start + seconds(20));
  EXPECT_FALSE(watch.stuck(start + seconds(30)));
  EXPECT_TRUE(watch.stuck(start + seconds(31)));
  EXPECT_EQ(watch.waiting(start + seconds(31)), seconds(31));
}

TEST(ProgressWatch, ProgressAndIdlenessStartAnew) {
  ProgressWatch watch(seconds(30));
  const SteadyTime start{seconds(100)};
  watch.observe(true, start);
  watch.progressed(start + seconds(29));
  EXPECT_FALSE(watch.stuck(start + seconds(59)));
  watch.observe(false, start + seconds(60));
  watch.progressed(start + seconds(61));
  watch.observe(true, start + seconds(70));
  EXPECT_FALSE(watch.stuck(start + seconds(100)));
  EXPECT_TRUE(watch.stuck(start + seconds(101)));
}

}  // namespace
}  // namespace drom
