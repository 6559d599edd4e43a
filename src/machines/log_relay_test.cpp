#include "machines/log_relay.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace drom {
namespace {

using std::chrono::seconds;

class LogRelayTest : public testing::Test {
 protected:
  LogRelayTest() {
    policy.checkpoint_delay = milliseconds(20);
    policy.retry.jitter = 0;
    policy.pause.jitter = 0;
    reset();
  }
  void reset() { relay = std::make_unique<LogRelay>(policy); }

  LogEffects step(LogEvent event) {
    LogEffects out = relay->step(std::move(event), now);
    if (!std::holds_alternative<std::monostate>(out.trip)) trip = out.trip;
    return out;
  }
  void lead(int64_t token = 1, std::vector<std::string> held = {}) {
    step(logs::Tick());
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(std::holds_alternative<LogLease>(trip));
      logs::LeaseAnswer answer;
      answer.ok = true;
      answer.asked = now;
      answer.token = token;
      if (std::get<LogLease>(trip).load) answer.held_keys = held;
      trip = std::monostate();
      step(std::move(answer));
      if (!std::holds_alternative<LogLease>(trip)) break;
    }
  }
  static LogRow row(uint64_t n, std::string key = "") {
    LogRow out;
    out.position = {1, n};
    out.id = static_cast<int64_t>(n);
    out.key = std::move(key);
    return out;
  }
  // Answers the read that is under way.
  void feed(std::vector<LogRow> rows) {
    if (std::holds_alternative<std::monostate>(trip)) {
      now += seconds(1);
      step(logs::Tick());
    }
    ASSERT_TRUE(std::holds_alternative<LogTrip>(trip));
    trip = std::monostate();
    logs::TripAnswer answer;
    answer.ok = true;
    answer.read.rows = std::move(rows);
    step(std::move(answer));
  }
  logs::TripAnswer ok() {
    trip = std::monostate();
    logs::TripAnswer answer;
    answer.ok = true;
    return answer;
  }
  std::vector<int64_t> take(size_t max = 100) {
    std::vector<int64_t> out;
    for (const LogHandOut& r : step(logs::Take{max}).rows) {
      out.push_back(r.row.id);
      seqs[r.row.id] = r.seq;
    }
    return out;
  }
  void settle(int64_t id, relay::Fate fate, ErrorKind kind = ErrorKind::transient) {
    relay::Settled s;
    s.id = static_cast<int64_t>(seqs.at(id));
    s.fate = fate;
    s.kind = kind;
    s.error = "boom";
    relay::SettledAll all;
    all.rows.push_back(std::move(s));
    step(std::move(all));
  }
  void done(int64_t id) { settle(id, relay::Fate::done); }
  // The checkpoint that is due, if any.
  std::optional<LogTrip> checkpoint() {
    for (int i = 0; i < 3; ++i) {
      if (std::holds_alternative<std::monostate>(trip)) {
        now += milliseconds(100);
        step(logs::Tick());
      }
      const auto* data = std::get_if<LogTrip>(&trip);
      if (!data) return std::nullopt;
      if (data->serial != 0) return *data;
      step(ok());
    }
    return std::nullopt;
  }

  LogPolicy policy;
  std::unique_ptr<LogRelay> relay;
  SteadyTime now{seconds(1000)};
  decltype(LogEffects::trip) trip;
  std::map<int64_t, uint64_t> seqs;
};

using Ids = std::vector<int64_t>;

TEST_F(LogRelayTest, ACheckpointIsTheContiguousPrefix) {
  lead();
  feed({row(1), row(2), row(3)});
  EXPECT_EQ(take(), (Ids{1, 2, 3}));
  done(1);
  done(3);
  const auto first = checkpoint();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->position, (LogPosition{1, 1}));
  step(ok());
  done(2);
  const auto second = checkpoint();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->position, (LogPosition{1, 3}));
}

TEST_F(LogRelayTest, OneGroupOfAKeyIsUnderWay) {
  lead();
  feed({row(1, "a"), row(2, "a"), row(3, "b")});
  EXPECT_EQ(take(2), (Ids{1, 3}));
  EXPECT_EQ(take(2), Ids{});
  done(1);
  EXPECT_EQ(take(2), Ids{2});
}

TEST_F(LogRelayTest, AFailedRowAndTheRestOfItsKeyGoToTheClaimTable) {
  lead();
  feed({row(1, "a"), row(2, "b"), row(3, "a")});
  EXPECT_EQ(take(3), (Ids{1, 2}));
  settle(1, relay::Fate::failed);
  done(2);
  const auto trip1 = checkpoint();
  ASSERT_TRUE(trip1);
  EXPECT_EQ(trip1->position, (LogPosition{1, 3}));
  ASSERT_EQ(trip1->holds.size(), 2u);
  EXPECT_EQ(trip1->holds[0].id, 1);
  EXPECT_EQ(trip1->holds[0].attempts, 1);
  EXPECT_EQ(trip1->holds[0].error, "boom");
  EXPECT_EQ(trip1->holds[1].id, 3);
  EXPECT_EQ(trip1->holds[1].attempts, 0);
  step(ok());
  feed({row(4, "a"), row(5, "b")});
  EXPECT_EQ(take(), Ids{5});
}

TEST_F(LogRelayTest, AHeldKeyIsFreeWhenTheClaimTableHasNoneOfItsRows) {
  lead(1, {"a"});
  feed({row(1, "a")});
  EXPECT_EQ(take(), Ids{});
  auto trip1 = checkpoint();
  ASSERT_TRUE(trip1);
  ASSERT_EQ(trip1->holds.size(), 1u);
  if (trip1->ask.empty()) {
    step(ok());
    now += seconds(1);
    step(logs::Tick());
    trip1 = std::get<LogTrip>(trip);
  }
  EXPECT_EQ(trip1->ask, std::vector<std::string>{"a"});
  logs::TripAnswer answer = ok();
  answer.free_keys = {"a"};
  step(std::move(answer));
  feed({row(2, "a")});
  EXPECT_EQ(take(), Ids{2});
}

TEST_F(LogRelayTest, ADeadRowHoldsNothingBack) {
  lead();
  feed({row(1, "a"), row(2, "a")});
  EXPECT_EQ(take(4), Ids{1});
  settle(1, relay::Fate::failed, ErrorKind::data);
  EXPECT_EQ(take(4), Ids{2});
  done(2);
  const auto trip1 = checkpoint();
  ASSERT_TRUE(trip1);
  ASSERT_EQ(trip1->holds.size(), 1u);
  EXPECT_EQ(trip1->holds[0].to, FailedMark::To::dead);
}

TEST_F(LogRelayTest, AnUnreachableTargetHoldsNothingAndPauses) {
  lead();
  feed({row(1, "a"), row(2, "b")});
  EXPECT_EQ(take(), (Ids{1, 2}));
  settle(1, relay::Fate::failed, ErrorKind::not_connected);
  settle(2, relay::Fate::failed, ErrorKind::not_connected);
  EXPECT_EQ(take(), Ids{});
  EXPECT_TRUE(relay->paused(now));
  EXPECT_FALSE(checkpoint());
  now += seconds(1);
  EXPECT_EQ(take(), Ids{1});  // one goes first
  EXPECT_EQ(take(), Ids{});
  done(1);
  EXPECT_EQ(take(), Ids{2});
}

TEST_F(LogRelayTest, ARowWhoseTimeHasNotComeIsHeldWithoutHoldingItsKey) {
  lead();
  LogRow later = row(1, "a");
  later.later = true;
  feed({later, row(2, "a")});
  EXPECT_EQ(take(), Ids{2});
  done(2);
  const auto trip1 = checkpoint();
  ASSERT_TRUE(trip1);
  EXPECT_EQ(trip1->holds.size(), 1u);
}

TEST_F(LogRelayTest, AnUnknownCheckpointIsLookedUp) {
  for (const bool committed : {true, false}) {
    reset();
    trip = std::monostate();
    lead();
    feed({row(1, "a")});
    take();
    settle(1, relay::Fate::failed);
    ASSERT_TRUE(checkpoint());
    const uint64_t serial = std::get<LogTrip>(trip).serial;
    logs::TripAnswer unknown;
    trip = std::monostate();
    step(std::move(unknown));
    now += seconds(1);
    step(logs::Tick());
    ASSERT_TRUE(std::holds_alternative<LogLease>(trip));
    EXPECT_TRUE(std::get<LogLease>(trip).load);
    trip = std::monostate();
    logs::LeaseAnswer answer;
    answer.ok = true;
    answer.asked = now;
    answer.token = 1;
    answer.serial = committed ? serial : serial - 1;
    answer.held_keys = committed ? std::vector<std::string>{"a"} : std::vector<std::string>{};
    step(std::move(answer));
    const auto again = checkpoint();
    EXPECT_EQ(again.has_value(), !committed);
    if (again) {
      EXPECT_EQ(again->holds.size(), 1u);
    }
  }
}

TEST_F(LogRelayTest, ANewTokenForgetsWhatIsUnderWay) {
  lead();
  feed({row(1, "a"), row(2, "b")});
  take();
  now += policy.lease;
  trip = std::monostate();
  if (std::holds_alternative<std::monostate>(trip)) step(ok());
  step(logs::Tick());
  ASSERT_TRUE(std::holds_alternative<LogLease>(trip));
  logs::LeaseAnswer answer;
  answer.ok = true;
  answer.asked = now;
  answer.token = 3;
  trip = std::monostate();
  step(answer);
  ASSERT_TRUE(std::holds_alternative<LogLease>(trip));
  EXPECT_TRUE(std::get<LogLease>(trip).load);
  trip = std::monostate();
  step(answer);
  done(1);
  EXPECT_EQ(relay->outstanding(), 0u);
  EXPECT_FALSE(checkpoint());
}

TEST_F(LogRelayTest, StoppingWritesWhatIsDoneAndGivesTheLeaseBack) {
  lead();
  feed({row(1, "a"), row(2, "a")});
  EXPECT_EQ(take(1), Ids{1});
  step(ok());  // the read that is under way
  step(logs::Stop());
  done(1);
  ASSERT_TRUE(std::holds_alternative<LogTrip>(trip));
  EXPECT_EQ(std::get<LogTrip>(trip).position, (LogPosition{1, 1}));
  step(ok());
  ASSERT_TRUE(std::holds_alternative<LogRelease>(trip));
  logs::LeaseAnswer left;
  left.ok = true;
  EXPECT_TRUE(step(left).finished);
}

TEST_F(LogRelayTest, RoomIsBounded) {
  policy.room = 4;
  policy.read_max = 4;
  reset();
  lead();
  feed({row(1), row(2), row(3), row(4)});
  take();
  trip = std::monostate();
  step(logs::Tick());
  EXPECT_TRUE(std::holds_alternative<std::monostate>(trip));
  done(4);
  done(1);
  const auto trip1 = checkpoint();
  ASSERT_TRUE(trip1);
  EXPECT_EQ(trip1->position, (LogPosition{1, 1}));
}

}  // namespace
}  // namespace drom
