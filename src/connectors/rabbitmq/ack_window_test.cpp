#include "connectors/rabbitmq/ack_window.hpp"

#include <gtest/gtest.h>

namespace drom::rabbitmq {
namespace {

AckWindow window_of(int count) {
  AckWindow out;
  for (int i = 0; i < count; ++i) out.delivered();
  return out;
}

TEST(AckWindow, OneForAllThatHaveNoGap) {
  AckWindow window = window_of(10);
  const AckPlan plan = window.plan({3, 1, 2, 6});
  EXPECT_EQ(plan.up_to, 3U);
  EXPECT_EQ(plan.single, (std::vector<uint64_t>{6}));
  EXPECT_EQ(window.size(), 7U);
}

TEST(AckWindow, AMultipleOneNamesATagThatIsStillOpen) {
  AckWindow window = window_of(5);
  EXPECT_EQ(window.plan({4}).single, (std::vector<uint64_t>{4}));
  EXPECT_TRUE(window.settle(2));  // rejected
  const AckPlan plan = window.plan({1, 3});
  EXPECT_EQ(plan.up_to, 3U);  // 4 was settled before
  EXPECT_TRUE(plan.single.empty());
  EXPECT_EQ(window.size(), 1U);
}

TEST(AckWindow, WhatIsNotOpenIsLeftOut) {
  AckWindow window = window_of(2);
  EXPECT_FALSE(window.settle(0));
  EXPECT_FALSE(window.settle(3));
  EXPECT_TRUE(window.settle(1));
  EXPECT_FALSE(window.settle(1));
  const AckPlan plan = window.plan({1, 2, 2, 9});
  EXPECT_EQ(plan.up_to, 0U);
  EXPECT_EQ(plan.single, (std::vector<uint64_t>{2}));
}

}  // namespace
}  // namespace drom::rabbitmq
