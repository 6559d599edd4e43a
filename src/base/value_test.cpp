#include "drom/base/value.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

TEST(Value, CopiesShareListsUntilOneChanges) {
  Value a(List{1, 2});
  Value b = a;
  EXPECT_EQ(a.as_list(), b.as_list());
  b.list().emplace_back(3);
  EXPECT_EQ(a.as_list()->size(), 2U);
  EXPECT_EQ(b.as_list()->size(), 3U);
}

TEST(Value, ComparesNumbersOfDifferentKindsByValue) {
  EXPECT_EQ(Value(2), Value(2.0));
  EXPECT_EQ(Value(Decimal{"2.50"}), Value(2.5));
  EXPECT_EQ(Value(Decimal{"1e3"}), Value(1000));
  EXPECT_EQ(Value(Decimal{"0.00"}), Value(0));
  EXPECT_EQ(Value(Decimal{"-0.010"}), Value(Decimal{"-1e-2"}));
  EXPECT_FALSE(Value(Decimal{"12345678901234567890"}) == Value(Decimal{"12345678901234567891"}));
  EXPECT_FALSE(Value(int64_t{9007199254740993}) == Value(9007199254740992.0));
  EXPECT_FALSE(Value("2") == Value(2));
}

TEST(Value, ConvertsToIntegersOnlyWithoutLoss) {
  EXPECT_EQ(Value("42").to_int(), 42);
  EXPECT_EQ(Value(" +7 ").to_int(), 7);
  EXPECT_EQ(Value(Decimal{"5.00"}).to_int(), 5);
  EXPECT_EQ(Value(3.0).to_int(), 3);
  EXPECT_EQ(Value(INT64_MIN).to_int(), INT64_MIN);
  EXPECT_EQ(Value("").to_int(), std::nullopt);
  EXPECT_EQ(Value("4x").to_int(), std::nullopt);
  EXPECT_EQ(Value(3.5).to_int(), std::nullopt);
  EXPECT_EQ(Value(0x1p63).to_int(), std::nullopt);
  EXPECT_EQ(Value("9223372036854775808").to_int(), std::nullopt);
  EXPECT_EQ(Value(true).to_int(), std::nullopt);
}

TEST(Value, ConvertsTextsToBooleansByTheTwoWordsOnly) {
  EXPECT_EQ(Value("TRUE").to_bool(), true);
  EXPECT_EQ(Value(" false ").to_bool(), false);
  EXPECT_EQ(Value("1").to_bool(), std::nullopt);
  EXPECT_EQ(Value(1).to_bool(), std::nullopt);
}

TEST(Value, WritesRealsSoThatTheyStayReals) {
  EXPECT_EQ(Value(2.0).to_text(), "2.0");
  EXPECT_EQ(Value(0.1).to_text(), "0.1");
  EXPECT_EQ(Value(1e100).to_text(), "1e+100");
}

TEST(Object, KeepsInsertionOrderAndComparesWithoutIt) {
  Object a;
  a.set("x", 1);
  a.set("y", 2);
  a.set("x", 3);
  EXPECT_EQ(a.begin()->first, "x");
  EXPECT_EQ(*a.find("x"), Value(3));
  Object b;
  b.set("y", 2);
  b.set("x", 3);
  EXPECT_EQ(a, b);
  EXPECT_TRUE(a.erase("x"));
  EXPECT_FALSE(a.erase("x"));
  EXPECT_EQ(a.find("x"), nullptr);
}

TEST(Bytes, ViewOutlivesTheCopyItCameFrom) {
  Bytes copy;
  {
    const Bytes original(std::string("abc"));
    copy = original;
  }
  EXPECT_EQ(copy.view(), "abc");
}

}  // namespace
}  // namespace drom
