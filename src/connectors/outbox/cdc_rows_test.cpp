#include "connectors/outbox/cdc_rows.hpp"

#include <gtest/gtest.h>

#include "connectors/outbox/outbox_log_sql.hpp"

namespace drom::outbox {
namespace {

using sql::WalEvent;

const WallTime kNow{std::chrono::seconds(1'800'000'000)};

WalEvent event(WalEvent::Kind kind, sql::Lsn lsn, uint32_t xid = 0) {
  WalEvent out;
  out.kind = kind;
  out.lsn = lsn;
  out.xid = xid;
  out.sent = kNow;
  return out;
}
WalEvent begin(sql::Lsn commit, uint32_t xid) { return event(WalEvent::Kind::begin, commit, xid); }
WalEvent commit(sql::Lsn end) { return event(WalEvent::Kind::commit, end); }
WalEvent alive(sql::Lsn lsn) { return event(WalEvent::Kind::keepalive, lsn); }
WalEvent insert(const std::string& body, const std::string& table = "outbox_x_log",
                Value expires = Value()) {
  static const auto relation = [](const std::string& name) {
    auto out = std::make_shared<sql::WalRelation>();
    out->name = name;
    out->columns = {"id", "slot", "event_id", "key", "payload", "expires_at"};
    out->types = {20, 21, 25, 25, 25, 1184};
    return out;
  };
  static const auto ours = relation("outbox_x_log");
  static const auto other = relation("other");
  WalEvent out = event(WalEvent::Kind::insert, 0);
  out.relation = table == "other" ? other : ours;
  out.values = {int64_t{7}, int64_t{0}, "e" + body, "k", body, std::move(expires)};
  return out;
}
WalEvent message(std::string content, bool transactional = true, sql::Lsn lsn = 0,
                 std::string prefix = "drom.outbox_x") {
  WalEvent out = event(WalEvent::Kind::message, lsn);
  out.transactional = transactional;
  out.prefix = std::move(prefix);
  out.content = std::move(content);
  return out;
}

template <class... Events>
StreamRows::Out take(StreamRows& rows, Events... events) {
  std::vector<WalEvent> list;
  (list.push_back(std::move(events)), ...);
  StreamRows::Out out;
  rows.take(std::move(list), out);
  return out;
}
StreamRows rows_from(StreamPlace place, std::string read = kNothing) {
  return StreamRows({"outbox_x", 1, place, std::move(read), true});
}
std::vector<std::string> bodies(const StreamRows::Out& out) {
  std::vector<std::string> list;
  for (const LogRow& row : out.rows.rows) list.push_back(row.columns[kColPayload].to_text());
  return list;
}
using Texts = std::vector<std::string>;

TEST(StreamRows, RowsHaveTheirPlaceInTheirTransaction) {
  StreamRows rows = rows_from({});
  const auto out = take(rows, begin(100, 5), insert("1"), insert("x", "other"), insert("2"),
                        commit(110), alive(150));
  EXPECT_EQ(bodies(out), (Texts{"1", "2"}));
  EXPECT_EQ(out.rows.rows[1].position, position_of(1, {100, 2}));
  EXPECT_EQ(out.rows.rows[0].id, 0) << "holds take the columns: the row may not be visible yet";
  EXPECT_EQ(out.rows.rows[0].columns[kColId], Value(int64_t{7}));
  EXPECT_EQ(out.rows.rows[0].columns[kColEventId], Value("e1"));
  EXPECT_TRUE(out.rows.rows[0].columns[kColHeaders].is_null());
  EXPECT_EQ(out.rows.end, position_of(1, {150, 0}));
}

TEST(StreamRows, InsideATransactionThereIsNoEnd) {
  StreamRows rows = rows_from({});
  EXPECT_FALSE(take(rows, begin(100, 5), insert("1")).rows.end);
  EXPECT_TRUE(rows.in_transaction());
  const auto rest = take(rows, insert("2"), commit(110));
  EXPECT_EQ(rest.rows.rows[0].position, position_of(1, {100, 2}));
  EXPECT_EQ(rest.rows.end, position_of(1, {110, 0}));
}

TEST(StreamRows, WhatIsKnownIsLeftOut) {
  StreamRows rows = rows_from({100, 1});
  EXPECT_TRUE(bodies(take(rows, begin(90, 4), insert("0"), commit(95))).empty());
  EXPECT_EQ(bodies(take(rows, begin(100, 5), insert("1"), insert("2"), commit(110))), Texts{"2"});
}

// A commit record may follow the one before it without a gap.
TEST(StreamRows, ATransactionThatCommitsWhereTheLastOneEndedIsNew) {
  StreamRows rows = rows_from({110, 0});
  EXPECT_EQ(bodies(take(rows, begin(110, 5), insert("1"), commit(120))), Texts{"1"});
}

TEST(StreamRows, RowsThatWereReadFromTheTableAreLeftOutButMessagesAreNot) {
  StreamRows rows = rows_from({}, "10:20:12,15");
  EXPECT_TRUE(bodies(take(rows, begin(100, 9), insert("1"), commit(101))).empty());
  EXPECT_TRUE(bodies(take(rows, begin(110, 14), insert("2"), commit(111))).empty());
  EXPECT_EQ(bodies(take(rows, begin(120, 15), insert("3"), commit(121))), Texts{"3"});
  EXPECT_EQ(bodies(take(rows, begin(130, 20), insert("4"), commit(131))), Texts{"4"});
  EXPECT_EQ(bodies(take(rows, begin(140, 9), message(R"({"payload": "5"})"), commit(141))),
            Texts{"5"});
}

TEST(SnapshotFilter, KnowsTransactionsAcrossTheWrapOfTheirIds) {
  constexpr uint64_t kEpoch = uint64_t{1} << 32;
  const SnapshotFilter after(std::to_string(kEpoch + 10) + ":" + std::to_string(kEpoch + 20) + ":" +
                             std::to_string(kEpoch + 12));
  EXPECT_TRUE(after.contains(0xfffffff0)) << "of the epoch before";
  EXPECT_TRUE(after.contains(5));
  EXPECT_FALSE(after.contains(12));
  EXPECT_TRUE(after.contains(13));
  EXPECT_FALSE(after.contains(20));
  const SnapshotFilter before(std::to_string(kEpoch - 10) + ":" + std::to_string(kEpoch - 5) + ":");
  EXPECT_FALSE(before.contains(3)) << "of the epoch after";
  EXPECT_TRUE(before.contains(0xfffffff0));
  EXPECT_FALSE(SnapshotFilter(kNothing).contains(3));
}

TEST(StreamRows, TimesAreMeasuredByTheServersClock) {
  StreamRows rows = rows_from({});
  const auto out =
      take(rows, begin(100, 5), insert("old", "outbox_x_log", kNow),
           insert("soon", "outbox_x_log", kNow + milliseconds(1500)),
           message(R"({"payload": "later", "available_at": "2027-01-15T08:00:01Z"})"), commit(110));
  ASSERT_EQ(out.rows.rows.size(), 3u);
  EXPECT_TRUE(out.rows.rows[0].later);
  EXPECT_FALSE(out.rows.rows[1].later);
  EXPECT_EQ(out.rows.rows[1].expires_in, milliseconds(1500));
  EXPECT_TRUE(out.rows.rows[2].later);
}

TEST(StreamRows, AMessageIsAnObjectOfTheColumns) {
  StreamRows rows = rows_from({});
  const auto out = take(
      rows, begin(0x1600000010, 5),
      message(R"({"key": 12, "type": "t", "payload": {"a": 9007199254740993}, "headers": {"h": 1},
                  "event_id": "e"})"),
      message(R"({"payload": "a\u0000b"})"), message(R"({"payload_bytes": "00ff"})"), message("{}"),
      commit(0x1600000020));
  ASSERT_EQ(out.rows.rows.size(), 4u);
  const List& first = out.rows.rows[0].columns;
  EXPECT_EQ(out.rows.rows[0].key, "12");
  EXPECT_EQ(first[kColKey], Value("12"));
  EXPECT_EQ(first[kColPayload], Value(R"({"a":9007199254740993})"));
  EXPECT_EQ(first[kColHeaders], Value(R"({"h":1})"));
  EXPECT_EQ(first[kColEventId], Value("e"));
  EXPECT_EQ(out.rows.rows[1].columns[kColPayloadBytes], Value(Bytes(std::string("a\0b", 3))));
  EXPECT_EQ(out.rows.rows[2].columns[kColPayloadBytes], Value(Bytes(std::string("\0\xff", 2))));
  EXPECT_EQ(out.rows.rows[3].columns[kColEventId], Value("16/10.4")) << "the same after a restart";
  EXPECT_TRUE(out.rows.rows[3].columns[kColPayload].is_null());
}

TEST(StreamRows, AMessageThatCannotBeReadIsKeptWithTheReason) {
  StreamRows rows = rows_from({});
  for (const char* wrong :
       {"", "null", "[1]", "no json", R"({"payloads": 1})", R"({"payload_bytes": "0"})",
        R"({"key": {"a": 1}})", R"({"available_at": "tomorrow"})", R"({"key": "a\u0000"})"}) {
    const auto out = take(rows, begin(100, 5), message(wrong), commit(110));
    ASSERT_EQ(out.rows.rows.size(), 1u) << wrong;
    const List& columns = out.rows.rows[0].columns;
    EXPECT_TRUE(columns[kColLater].is_text()) << wrong;
    EXPECT_EQ(columns[kColPayloadBytes], Value(Bytes(std::string(wrong))));
    EXPECT_TRUE(out.rows.rows[0].key.empty());
  }
}

TEST(StreamRows, HeartbeatsNameAPlaceAndOtherMessagesOutsideOfTransactionsAreCounted) {
  StreamRows rows = rows_from({});
  const auto beat = take(rows, message("me/1", false, 300, std::string(kHeartbeatPrefix)));
  ASSERT_EQ(beat.heartbeats.size(), 1u);
  EXPECT_EQ(beat.heartbeats[0], std::pair(uint64_t{300}, std::string("me/1")));
  EXPECT_EQ(beat.rows.end, position_of(1, {300, 0}));
  const auto stray = take(rows, message("{}", false, 310), message("{}", false, 320, "others"));
  EXPECT_TRUE(stray.rows.rows.empty());
  EXPECT_EQ(rows.untransacted(), 1u);
}

}  // namespace
}  // namespace drom::outbox
