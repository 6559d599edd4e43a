// The corpus of smuggling_cases_test.cpp against the server, in one piece and byte by byte.
#include <gtest/gtest.h>

#include <random>

#include "connectors/http/server_test_support.hpp"
#include "connectors/http/smuggling_test_support.hpp"

namespace drom::http {
namespace {

class SmugglingTest : public HttpServerTest {
 protected:
  SmugglingTest() { start(); }

  // Everything that the server says, and whether it goes on listening.
  std::string outcome(const std::vector<std::string_view>& pieces) {
    RawClient client(harness, server->port());
    for (const std::string_view piece : pieces) client.send(piece);
    std::string out;
    while (!client.silent()) {
      const RawReply reply = client.reply();
      if (reply.status == 0) return out + "close";
      if (reply.status != 100)
        out += (reply.status == 200 && !reply.body.empty() ? "[" + reply.body + "]"
                                                           : std::to_string(reply.status)) +
               " ";
    }
    return out + "open";
  }

  void check(const std::vector<SmugglingCase>& cases) {
    for (const SmugglingCase& example : cases) {
      EXPECT_EQ(outcome({example.raw}), example.outcome) << example.name;
      if (example.raw.size() > 1000) continue;
      std::vector<std::string_view> bytes;
      for (size_t i = 0; i < example.raw.size(); ++i)
        bytes.push_back(std::string_view(example.raw).substr(i, 1));
      EXPECT_EQ(outcome(bytes), example.outcome) << example.name << ", byte by byte";
    }
    EXPECT_EQ(outcome({"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"}), "[GET /a ] open");
  }
};

TEST_F(SmugglingTest, TwoLengthsAreRefused) { check(two_length_cases()); }
TEST_F(SmugglingTest, ALengthIsDigitsAlone) { check(content_length_cases()); }
TEST_F(SmugglingTest, ACodingIsChunkedAlone) { check(transfer_encoding_cases()); }
TEST_F(SmugglingTest, ChunksAreReadStrictly) { check(chunk_cases()); }
TEST_F(SmugglingTest, RequestLinesAreReadStrictly) { check(line_cases()); }
TEST_F(SmugglingTest, FieldsAreReadStrictly) { check(field_cases()); }
TEST_F(SmugglingTest, TargetsAreReadStrictly) { check(target_cases()); }
TEST_F(SmugglingTest, AConnectionEndsWithTheFirstRefusal) { check(connection_cases()); }

// What a reader makes of `input`: the requests, then how it stands. With several faults in one head
// the cuts decide which is found first, so the status is left out.
std::string read_all(std::string_view input, size_t piece) {
  RequestReader reader(16 * 1024);
  std::string out;
  std::string pending;
  size_t given = 0;
  while (true) {
    const size_t used = reader.consume(pending);
    pending.erase(0, used);
    const ReadState state = reader.state();
    if (state == ReadState::refused) return out + "refused";
    if (state == ReadState::complete) {
      out += std::string(to_string(reader.request().method)) + " " + reader.request().target + " " +
             reader.request().body + "|";
      reader.reset();
      continue;
    }
    if (state == ReadState::body && !reader.body_max(1024 * 1024)) return out + "refused";
    if (used > 0) continue;
    if (given == input.size()) return out + "more";
    pending += input.substr(given, piece);
    given += std::min(piece, input.size() - given);
  }
}

// Whatever arrives: how it is cut into reads changes nothing, and nothing gets past the reader.
TEST(SmugglingMutants, AreReadAlikeHoweverTheyAreCut) {
  std::vector<SmugglingCase> all;
  for (const auto& part :
       {two_length_cases(), content_length_cases(), transfer_encoding_cases(), chunk_cases(),
        line_cases(), field_cases(), target_cases(), connection_cases()})
    for (const SmugglingCase& example : part)
      if (example.raw.size() < 500) all.push_back(example);
  const std::string_view marks("\r\n\0 \t:;,/0aF\x7f\xff", 14);
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  size_t accepted = 0;
  for (int round = 0; round < 5'000; ++round) {
    std::string raw = all[below(all.size())].raw;
    for (size_t i = below(4); i > 0 && !raw.empty(); --i) {
      const size_t at = below(raw.size());
      if (below(3) == 0)
        raw.erase(at, 1 + below(3));
      else if (below(2) == 0)
        raw.insert(at, 1, marks[below(marks.size())]);
      else
        raw[at] = marks[below(marks.size())];
    }
    const std::string whole = read_all(raw, raw.size() + 1);
    ASSERT_EQ(read_all(raw, 1), whole) << raw;
    ASSERT_EQ(read_all(raw, 1 + below(40)), whole) << raw;
    accepted += whole.find('|') != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(accepted, 250u);
}

}  // namespace
}  // namespace drom::http
