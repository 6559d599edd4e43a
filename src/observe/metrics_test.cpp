#include "observe/metrics.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>

#include "observe/exposition.hpp"

namespace drom {
namespace {

using std::chrono::milliseconds;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

OutboxStats busy_relay() {
  OutboxStats out;
  out.sent = 7;
  out.due = 3;
  out.oldest_due = milliseconds(1500);
  out.buckets = 64;
  out.lags.push_back({5, 2, 40, milliseconds(1500)});
  out.lags.push_back({9, 1, 41, std::nullopt});
  out.streaming = true;
  out.slot_lag = 1'000'000;
  out.holder_pid = 4711;
  out.holder_age = milliseconds(61'000);
  return out;
}

class Metrics : public ::testing::Test {
 protected:
  std::string page() { return metrics_text(process, counters, board, lags); }
  void add_relay(std::string uri, OutboxStats stats) {
    board.add(&places[used++], std::move(uri), [stats] { return stats; });
  }

  void add_source(std::string uri, std::vector<SourceLag> behind) {
    lags.add(&places[used++], std::move(uri), [behind] { return behind; });
  }
  ProcessFigures process{"1.2.3", WallTime(std::chrono::milliseconds(1'700'000'000'250)),
                         9'000'000};
  Counters counters;
  OutboxBoard board;
  SourceLagBoard lags;
  char places[8] = {};
  size_t used = 0;
};

TEST(Exposition, EscapesWhatTheFormatAsksFor) {
  Exposition page;
  page.family("a", "one\\two\nthree \"four\"");
  page.sample({{"path", "C:\\x"}, {"text", "say \"hi\"\nbye"}}, 1);
  EXPECT_EQ(page.take(),
            "# HELP a one\\\\two\\nthree \"four\"\n# TYPE a gauge\n"
            "a{path=\"C:\\\\x\",text=\"say \\\"hi\\\"\\nbye\"} 1\n");
}

TEST(Exposition, TellsCountersByTheirNames) {
  Exposition page;
  page.family("x_total", "h");
  page.family("x", "h");
  EXPECT_EQ(page.take(), "# HELP x_total h\n# TYPE x_total counter\n# HELP x h\n# TYPE x gauge\n");
}

TEST(Exposition, WritesNumbersThatPrometheusReads) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0, "0"},
      {-3, "-3"},
      {2'000'000, "2000000"},
      {9007199254740992.0, "9007199254740992"},
      {1.5, "1.5"},
      {0.001, "0.001"},
      {1e300, "1e+300"},
      {1.0 / 0.0, "+Inf"},
      {-1.0 / 0.0, "-Inf"}};
  for (const auto& [value, text] : cases) {
    Exposition page;
    page.family("x", "h");
    page.sample({}, value);
    EXPECT_TRUE(has_line(page.take(), "x " + text)) << text;
  }
}

TEST_F(Metrics, EveryFamilyHasItsHelpAndTypeOnceBeforeItsSamples) {
  counters.route("orders");
  counters.route("other");
  add_relay("outbox:orders", busy_relay());
  add_relay("outbox:mails", busy_relay());
  add_source("kafka:orders", {{"orders", 0, 3}, {"orders", 1, 0}});
  add_source("kafka:orders", {{"orders", 0, 1}});
  std::istringstream lines(page());
  std::set<std::string> helped, typed, series;
  std::string line, family;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string hash, keyword, name;
    words >> hash >> keyword >> name;
    if (hash != "#") {
      EXPECT_EQ(hash.substr(0, hash.find('{')), family) << line;
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
      continue;
    }
    if (keyword == "HELP") {
      EXPECT_TRUE(helped.insert(name).second) << line;
      family = name;
    } else {
      ASSERT_EQ(keyword, "TYPE") << line;
      EXPECT_EQ(name, family);
      EXPECT_TRUE(typed.insert(name).second) << line;
    }
  }
  EXPECT_EQ(helped, typed);
  EXPECT_EQ(typed.size(), 31u);
}

TEST_F(Metrics, RoutesTellWhatTheyHaveDone) {
  RouteCounters& route = counters.route("a\"b");
  route = {5, 3, 1, 1, 2, 4};
  EXPECT_TRUE(has_line(page(), "drom_route_received_total{route=\"a\\\"b\"} 5"));
  EXPECT_TRUE(has_line(page(), "drom_route_completed_total{route=\"a\\\"b\"} 3"));
  EXPECT_TRUE(has_line(page(), "drom_route_failed_total{route=\"a\\\"b\"} 1"));
  EXPECT_TRUE(has_line(page(), "drom_route_released_total{route=\"a\\\"b\"} 1"));
  EXPECT_TRUE(has_line(page(), "drom_route_redelivered_total{route=\"a\\\"b\"} 2"));
  EXPECT_TRUE(has_line(page(), "drom_route_deadletter_failed_total{route=\"a\\\"b\"} 4"));
}

TEST_F(Metrics, SourcesTellHowFarTheyAreBehind) {
  add_source("kafka:orders", {{"orders", 0, 3}, {"orders", 1, 0}});
  const std::string labels = "{source=\"kafka:orders\",nth=\"1\",topic=\"orders\",partition=";
  EXPECT_TRUE(has_line(page(), "drom_source_lag" + labels + "\"0\"} 3")) << page();
  EXPECT_TRUE(has_line(page(), "drom_source_lag" + labels + "\"1\"} 0"));
  lags.remove(&places[used - 1]);
  EXPECT_EQ(page().find("drom_source_lag"), std::string::npos);
}

TEST_F(Metrics, RelaysTellWhatTheyDo) {
  add_relay("outbox:orders", busy_relay());
  const std::string text = page();
  const std::string labels = "{outbox=\"outbox:orders\",reads=\"table\"} ";
  EXPECT_TRUE(has_line(text, "drom_outbox_sent_total" + labels + "7"));
  EXPECT_TRUE(has_line(text, "drom_outbox_due" + labels + "3"));
  EXPECT_TRUE(has_line(text, "drom_outbox_oldest_due_seconds" + labels + "1.5"));
  EXPECT_TRUE(has_line(text, "drom_outbox_buckets_leased" + labels + "64"));
  EXPECT_TRUE(has_line(text, "drom_outbox_paused" + labels + "0"));
  EXPECT_TRUE(has_line(text, "drom_outbox_ready" + labels + "1"));
  EXPECT_TRUE(has_line(text, "drom_outbox_streaming" + labels + "1"));
  EXPECT_TRUE(has_line(text, "drom_outbox_slot_lag_bytes" + labels + "1000000"));
  EXPECT_TRUE(has_line(text, "drom_outbox_oldest_transaction_pid" + labels + "4711"));
  EXPECT_TRUE(has_line(text, "drom_outbox_oldest_transaction_seconds" + labels + "61"));
  const std::string bucket = "{outbox=\"outbox:orders\",reads=\"table\",bucket=";
  EXPECT_TRUE(has_line(text, "drom_outbox_bucket_due" + bucket + "\"5\"} 2"));
  EXPECT_TRUE(has_line(text, "drom_outbox_bucket_due" + bucket + "\"9\"} 1"));
  EXPECT_TRUE(has_line(text, "drom_outbox_bucket_oldest_due_seconds" + bucket + "\"5\"} 1.5"));
}

TEST_F(Metrics, WhatIsUnknownHasNoSample) {
  add_relay("outbox:orders", OutboxStats());
  const std::string text = page();
  EXPECT_EQ(text.find("oldest_transaction"), std::string::npos);
  EXPECT_EQ(text.find("bucket_"), std::string::npos);
  EXPECT_TRUE(
      has_line(text, "drom_outbox_oldest_due_seconds{outbox=\"outbox:orders\",reads=\"table\"} 0"));
}

TEST_F(Metrics, TwoRelaysOfOneOutboxHaveLabelsOfTheirOwn) {
  add_relay("outbox:orders", OutboxStats());
  add_relay("outbox:orders", OutboxStats());
  OutboxStats log;
  log.reads = "log";
  add_relay("outbox:orders", log);
  const std::string text = page();
  const std::string sent = "drom_outbox_sent_total{outbox=\"outbox:orders\",";
  EXPECT_TRUE(has_line(text, sent + "reads=\"table\"} 0"));
  EXPECT_TRUE(has_line(text, sent + "reads=\"table\",relay=\"2\"} 0"));
  EXPECT_TRUE(has_line(text, sent + "reads=\"log\"} 0"));
}

TEST_F(Metrics, TheProcessTellsOfItself) {
  const std::string text = page();
  EXPECT_TRUE(has_line(text, "drom_build_info{version=\"1.2.3\"} 1"));
  EXPECT_TRUE(has_line(text, "process_start_time_seconds 1700000000.25"));
  EXPECT_TRUE(has_line(text, "process_resident_memory_bytes 9000000"));
  EXPECT_TRUE(has_line(text, "drom_ready 1"));
}

}  // namespace
}  // namespace drom
