#include "sql/postgres/pgoutput.hpp"

#include <gtest/gtest.h>

namespace drom::sql {
namespace {

std::string number(uint64_t value, int size) {
  std::string out;
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}
std::string text(std::string value) { return value + '\0'; }
std::string wrapped(const std::string& inner) {
  return "w" + number(100, 8) + number(200, 8) + number(5'000'000, 8) + inner;
}
std::string relation(uint32_t id) {
  return wrapped("R" + number(id, 4) + text("public") + text("outbox_log") + "d" + number(3, 2) +
                 "\1" + text("id") + number(20, 4) + number(~0U, 4) +  //
                 std::string(1, '\0') + text("key") + number(25, 4) + number(~0U, 4) +
                 std::string(1, '\0') + text("payload_bytes") + number(17, 4) + number(~0U, 4));
}
std::string insert(uint32_t id) {
  return wrapped("I" + number(id, 4) + "N" + number(3, 2) + "t" + number(2, 4) + "42" + "n" + "t" +
                 number(8, 4) + "\\x00ff10");
}

std::optional<WalEvent> decoded(PgOutput& in, const std::string& message, bool* wanted = nullptr) {
  bool reply = false;
  Result<std::optional<WalEvent>> event = in.decode(message, reply);
  if (wanted) *wanted = reply;
  EXPECT_TRUE(event.ok()) << (event.ok() ? "" : event.error().message());
  return event.ok() ? std::move(*event) : std::nullopt;
}

TEST(PgOutput, ATransactionIsBeginInsertsAndCommit) {
  PgOutput in;
  const auto begin =
      decoded(in, wrapped("B" + number(0x1600000010, 8) + number(1, 8) + number(77, 4)));
  ASSERT_TRUE(begin);
  EXPECT_EQ(begin->kind, WalEvent::Kind::begin);
  EXPECT_EQ(begin->lsn, 0x1600000010u);
  EXPECT_EQ(begin->xid, 77u);
  EXPECT_EQ(to_iso8601(begin->sent), "2000-01-01T00:00:05.000Z");

  EXPECT_FALSE(decoded(in, relation(9)));
  const auto row = decoded(in, insert(9));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->kind, WalEvent::Kind::insert);
  EXPECT_EQ(row->relation->name, "outbox_log");
  EXPECT_EQ(row->relation->columns[2], "payload_bytes");
  ASSERT_EQ(row->values.size(), 3u);
  EXPECT_EQ(row->values[0], Value(int64_t{42}));
  EXPECT_TRUE(row->values[1].is_null());
  EXPECT_EQ(row->values[2], Value(Bytes(std::string("\0\xff\x10", 3))));

  const auto commit = decoded(in, wrapped("C" + number(0, 1) + number(0x1600000010, 8) +
                                          number(0x1600000040, 8) + number(1, 8)));
  ASSERT_TRUE(commit);
  EXPECT_EQ(commit->kind, WalEvent::Kind::commit);
  EXPECT_EQ(commit->lsn, 0x1600000040u);
}

TEST(PgOutput, MessagesAndSignsOfLife) {
  PgOutput in;
  const auto whole = decoded(
      in, wrapped("M" + number(1, 1) + number(99, 8) + text("outbox") + number(2, 4) + "{}"));
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->transactional);
  EXPECT_EQ(whole->prefix, "outbox");
  EXPECT_EQ(whole->content, "{}");
  bool wanted = false;
  const auto alive = decoded(in, "k" + number(500, 8) + number(0, 8) + "\1", &wanted);
  ASSERT_TRUE(alive);
  EXPECT_EQ(alive->kind, WalEvent::Kind::keepalive);
  EXPECT_EQ(alive->lsn, 500u);
  EXPECT_TRUE(wanted);
  EXPECT_FALSE(decoded(in, wrapped("D" + number(9, 4)))) << "of no interest";
}

TEST(PgOutput, BytesThatAreNoMessageAreAnErrorAndNeverReadPastTheEnd) {
  PgOutput in;
  bool reply = false;
  EXPECT_FALSE(in.decode("", reply).ok());
  EXPECT_FALSE(in.decode("x", reply).ok());
  EXPECT_FALSE(in.decode(insert(4), reply).ok()) << "nobody has told what relation 4 is";
  EXPECT_FALSE(decoded(in, relation(9)));
  for (const std::string& whole : {relation(9), insert(9)})
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(in.decode(std::string_view(whole).substr(0, size), reply).ok()) << size;
}

TEST(PgOutput, TheStatusUpdateNamesWhatIsSafe) {
  const std::string status =
      status_update(0x0102, 0x0101, WallTime(std::chrono::seconds(946'684'801)));
  EXPECT_EQ(status, "r" + number(0x0102, 8) + number(0x0101, 8) + number(0x0101, 8) +
                        number(1'000'000, 8) + std::string(1, '\0'));
}

}  // namespace
}  // namespace drom::sql
