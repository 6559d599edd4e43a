#include "engine/route_loop.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "rt/wait_list.hpp"
#include "support/harness.hpp"

namespace drom {
namespace {

using testing::Harness;

// What the test and the consumer share; the loop owns the consumer itself.
struct Source {
  ConsumerTraits traits;
  std::deque<Result<Batch>> polls;
  std::deque<Result<void>> opens;    // empty: opening works
  std::vector<std::string> settled;  // "body:outcome"
  int opened = 0, closed = 0, stops = 0;
  bool stopped = false;
  bool slow_open = false;  // until the test says otherwise
  Result<void> settle_answer;
  std::unique_ptr<Alarm> alarm;

  void offer(std::initializer_list<std::pair<const char*, const char*>> bodies_and_keys) {
    Batch batch;
    for (const auto& [body, key] : bodies_and_keys) {
      batch.emplace_back(Message{Value(body), {}});
      batch.back().key = key;
    }
    polls.emplace_back(std::move(batch));
    alarm->ring();
  }
};

class FakeConsumer final : public Consumer {
 public:
  explicit FakeConsumer(Source& source) : source_(source) {}
  ConsumerTraits traits() const override { return source_.traits; }
  async<Result<void>> open() override {
    ++source_.opened;
    while (source_.slow_open) co_await source_.alarm->wait(milliseconds::max());
    source_.stopped = false;
    if (source_.opens.empty()) co_return Result<void>();
    Result<void> answer = source_.opens.front();
    source_.opens.pop_front();
    co_return answer;
  }
  async<Result<Batch>> poll(size_t) override {
    while (source_.polls.empty() && !source_.stopped)
      co_await source_.alarm->wait(milliseconds::max());
    if (source_.stopped && (!source_.traits.internal || source_.polls.empty())) co_return Batch();
    Result<Batch> out = std::move(source_.polls.front());
    source_.polls.pop_front();
    co_return out;
  }
  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    for (const Receipt& receipt : receipts) {
      const char* outcome = receipt.outcome == Outcome::done     ? "done"
                            : receipt.outcome == Outcome::failed ? "failed"
                                                                 : "released";
      source_.settled.push_back(receipt.exchange.message.body.to_text() + ":" + outcome);
    }
    co_return source_.settle_answer;
  }
  void stop() override {
    ++source_.stops;
    source_.stopped = true;
    source_.alarm->ring();
  }
  async<> close() override {
    ++source_.closed;
    co_return;
  }

 private:
  Source& source_;
};

// A step that waits until the test lets the exchange with that body go.
class Gate final : public AsyncProcessor {
 public:
  explicit Gate(Clock& clock) : clock_(clock) {}
  async<> run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      const std::string body = exchange.message.body.to_text();
      running.push_back(body);
      if (open) continue;
      auto& alarm = waiting_[body];
      alarm = clock_.make_alarm();
      co_await alarm->wait(milliseconds::max());
      const auto fails = failures.find(body);
      if (fails != failures.end()) exchange.fail(Error(fails->second, "asked to fail"));
    }
  }
  void let(const std::string& body) { waiting_.at(body)->ring(); }
  std::vector<std::string> running;
  std::map<std::string, ErrorKind> failures;
  bool open = false;

 private:
  Clock& clock_;
  std::map<std::string, std::unique_ptr<Alarm>> waiting_;
};

// A send that takes whole batches and ends an exchange when the test says so.
class Window final : public AsyncProcessor {
 public:
  explicit Window(Clock& clock) : clock_(clock) {}
  bool pipelines() const override { return true; }
  async<> run(Batch& batch, Scope&) override {
    std::string sent;
    for (Exchange& exchange : batch) sent += exchange.message.body.to_text() + " ";
    calls.push_back(sent);
    for (Exchange& exchange : batch) {
      const std::string body = exchange.message.body.to_text();
      while (!open && !ended_.contains(body)) co_await changed_.wait(clock_, milliseconds::max());
      const auto fails = failures.find(body);
      if (fails == failures.end()) continue;
      exchange.fail(Error(fails->second, "asked to fail"));
      failures.erase(fails);
      ended_.erase(body);
    }
  }
  void end(const std::string& body) {
    ended_.insert(body);
    changed_.ring_all();
  }
  std::vector<std::string> calls;
  std::map<std::string, ErrorKind> failures;  // the next time only
  bool open = false;

 private:
  Clock& clock_;
  WaitList changed_;
  std::set<std::string> ended_;
};

class RouteLoopTest : public ::testing::Test {
 protected:
  RouteLoopTest() { source_.alarm = harness_.manual_clock.make_alarm(); }

  void start(ConsumerTraits traits, Step step, std::unique_ptr<RoutePolicy> policy = nullptr) {
    source_.traits = traits;
    std::vector<Step> steps;
    steps.push_back(std::move(step));
    runner_.set_body(std::make_unique<Pipeline>(std::move(steps)), std::move(policy));
    LoopServices services{harness_.manual_clock,
                          harness_.captured,
                          harness_.rng(),
                          tasks_,
                          stop_,
                          serial_,
                          [this](const Error& error) { fatal_ = error.what; }};
    loop_ = std::make_unique<RouteLoop>(std::move(services), runner_,
                                        std::make_unique<FakeConsumer>(source_), "fake:x");
    tasks_.spawn("loop", loop_->run());
    harness_.settle();
  }
  void start_gated(ConsumerTraits traits) {
    auto gate = std::make_unique<Gate>(harness_.manual_clock);
    gate_ = gate.get();
    start(traits, Step(std::unique_ptr<AsyncProcessor>(std::move(gate))));
  }
  void start_window(ConsumerTraits traits, std::unique_ptr<RoutePolicy> policy = nullptr) {
    auto window = std::make_unique<Window>(harness_.manual_clock);
    window_ = window.get();
    start(traits, Step(std::unique_ptr<AsyncProcessor>(std::move(window))), std::move(policy));
  }
  void end(std::initializer_list<const char*> bodies) {
    for (const char* body : bodies) window_->end(body);
    harness_.settle();
  }
  void offer(std::initializer_list<std::pair<const char*, const char*>> bodies_and_keys) {
    source_.offer(bodies_and_keys);
    harness_.settle();
  }
  void let(const std::string& body) {
    gate_->let(body);
    harness_.settle();
  }
  void stop() {
    stop_.stop();
    loop_->stop();
    harness_.settle();
  }
  void TearDown() override {
    if (!loop_) return;
    if (gate_) gate_->open = true;
    if (window_) window_->open = true;
    if (window_) end({});
    stop();
    harness_.advance(std::chrono::minutes(1));
    EXPECT_TRUE(loop_->done());
  }
  using Texts = std::vector<std::string>;

  Harness harness_;
  StopSource stop_;
  RouteCounters counters_;
  uint64_t serial_ = 0;
  std::string fatal_;
  Source source_;
  RouteRunner runner_{"orders", harness_, counters_};
  TaskGroup tasks_{harness_.io(), harness_.manual_clock, harness_.captured};
  Gate* gate_ = nullptr;
  Window* window_ = nullptr;
  std::unique_ptr<RouteLoop> loop_;
};

ConsumerTraits many(size_t in_flight_max, bool keyed = false) {
  ConsumerTraits traits;
  traits.in_flight_max = in_flight_max;
  traits.poll_max = 100;
  traits.keyed = keyed;
  return traits;
}

TEST_F(RouteLoopTest, RunsOneAfterAnotherByDefault) {
  start_gated(ConsumerTraits());
  offer({{"1", ""}, {"2", ""}});
  EXPECT_EQ(gate_->running, (Texts{"1"}));
  let("1");
  EXPECT_EQ(source_.settled, (Texts{"1:done"}));
  EXPECT_EQ(gate_->running, (Texts{"1", "2"}));
  let("2");
  EXPECT_EQ(source_.settled, (Texts{"1:done", "2:done"}));
}

TEST_F(RouteLoopTest, RunsAPolledBatchTogetherWhenNoStepWaits) {
  size_t calls = 0, exchanges = 0;
  class Count final : public Processor {
   public:
    Count(size_t& c, size_t& e) : calls_(c), exchanges_(e) {}
    void run(Batch& batch, Scope&) override {
      ++calls_;
      exchanges_ += batch.size();
    }

   private:
    size_t& calls_;
    size_t& exchanges_;
  };
  start(many(10), Step(std::unique_ptr<Processor>(std::make_unique<Count>(calls, exchanges))));
  offer({{"1", ""}, {"2", ""}, {"3", ""}});
  EXPECT_EQ(calls, 1U);
  EXPECT_EQ(exchanges, 3U);
  EXPECT_EQ(counters_.completed, 3U);
}

TEST_F(RouteLoopTest, KeepsAtMostTheAllowedNumberInFlight) {
  start_gated(many(2));
  offer({{"1", ""}, {"2", ""}, {"3", ""}});
  EXPECT_EQ(gate_->running, (Texts{"1", "2"}));
  let("2");
  EXPECT_EQ(gate_->running, (Texts{"1", "2", "3"}));
  let("1");
  let("3");
  EXPECT_EQ(source_.settled, (Texts{"2:done", "1:done", "3:done"}));
}

TEST_F(RouteLoopTest, NeverRunsTwoOfOneKeyAtOnce) {
  start_gated(many(10, true));
  offer({{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"n1", ""}, {"n2", ""}});
  EXPECT_EQ(gate_->running, (Texts{"a1", "b1", "n1", "n2"}));
  let("a1");
  EXPECT_EQ(gate_->running.back(), "a2");
  for (const char* body : {"b1", "n1", "n2", "a2"}) let(body);
  EXPECT_EQ(source_.settled.size(), 5U);
}

TEST_F(RouteLoopTest, ReleasesTheLaterOnesOfAKeyWhoseEarlierOneFailed) {
  start_gated(many(10, true));
  gate_->failures["a1"] = ErrorKind::transient;
  offer({{"a1", "a"}, {"a2", "a"}, {"b1", "b"}});
  let("a1");
  let("b1");
  EXPECT_EQ(source_.settled, (Texts{"a1:failed", "a2:released", "b1:done"}));
  EXPECT_EQ(counters_.failed, 1U);
  EXPECT_EQ(counters_.released, 1U);
}

ConsumerTraits windowed(size_t window, bool keyed = false) {
  ConsumerTraits traits;
  traits.window = window;
  traits.poll_max = 100;
  traits.keyed = keyed;
  return traits;
}

TEST_F(RouteLoopTest, APipelinedSendGetsTheNextBatchWhileItWaits) {
  start_window(windowed(8));
  offer({{"1", ""}, {"2", ""}});
  offer({{"3", ""}});
  EXPECT_EQ(window_->calls, (Texts{"1 2 ", "3 "}));
  end({"3"});
  EXPECT_EQ(source_.settled, (Texts{"3:done"}));
  end({"1", "2"});
  EXPECT_EQ(source_.settled, (Texts{"3:done", "1:done", "2:done"}));
}

TEST_F(RouteLoopTest, APipelinedSendNeverHasTwoOfOneKey) {
  start_window(windowed(40, true));
  offer({{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"a3", "a"}});
  EXPECT_EQ(window_->calls, (Texts{"a1 b1 "}));
  end({"a1", "b1"});
  EXPECT_EQ(window_->calls, (Texts{"a1 b1 ", "a2 "}));
  end({"a2"});
  end({"a3"});
  EXPECT_EQ(window_->calls, (Texts{"a1 b1 ", "a2 ", "a3 "}));
  EXPECT_EQ(source_.settled, (Texts{"a1:done", "b1:done", "a2:done", "a3:done"}));
}

TEST_F(RouteLoopTest, AFailureInAPipelinedSendReleasesTheLaterOnesOfItsKeyOnly) {
  start_window(windowed(40, true));
  window_->failures["a1"] = ErrorKind::transient;
  offer({{"a1", "a"}, {"b1", "b"}, {"a2", "a"}});
  end({"a1", "b1"});
  EXPECT_EQ(source_.settled, (Texts{"a1:failed", "a2:released", "b1:done"}));
}

TEST_F(RouteLoopTest, WhatFailedInAPipelinedSendIsRedeliveredAloneAndHoldsOnlyItsKey) {
  auto policy = std::make_unique<RoutePolicy>(stop_, counters_);
  policy->redelivery.maximum_redeliveries = 1;
  policy->redelivery.delay = milliseconds(1000);
  start_window(windowed(40, true), std::move(policy));
  window_->failures["a1"] = ErrorKind::transient;
  offer({{"a1", "a"}, {"b1", "b"}, {"a2", "a"}});
  end({"a1", "b1"});
  EXPECT_EQ(source_.settled, (Texts{"b1:done"}));
  offer({{"b2", "b"}});
  end({"b2"});
  EXPECT_EQ(source_.settled, (Texts{"b1:done", "b2:done"}));
  harness_.advance(milliseconds(1000));
  end({"a1"});
  EXPECT_EQ(window_->calls, (Texts{"a1 b1 ", "b2 ", "a1 ", "a2 "}));
  end({"a2"});
  EXPECT_EQ(source_.settled, (Texts{"b1:done", "b2:done", "a1:done", "a2:done"}));
  EXPECT_EQ(counters_.redelivered, 1U);
}

TEST_F(RouteLoopTest, StopLetsAPipelinedSendEndAndReleasesWhatHasNotBegun) {
  start_window(windowed(40, true));
  offer({{"a1", "a"}, {"a2", "a"}});
  stop();
  EXPECT_FALSE(loop_->done());
  end({"a1"});
  EXPECT_EQ(source_.settled, (Texts{"a1:done", "a2:released"}));
  EXPECT_TRUE(loop_->done());
}

TEST_F(RouteLoopTest, InTurnNothingPassesAnUndoneOneOfItsKey) {
  ConsumerTraits traits;
  traits.keyed = true;
  traits.poll_max = 10;
  start_gated(traits);
  gate_->failures["a1"] = ErrorKind::transient;
  offer({{"a1", "a"}, {"b1", "b"}, {"a2", "a"}, {"n1", ""}});
  let("a1");
  let("b1");
  let("n1");
  EXPECT_EQ(gate_->running, (Texts{"a1", "b1", "n1"}));
  EXPECT_EQ(source_.settled, (Texts{"a1:failed", "b1:done", "a2:released", "n1:done"}));
}

TEST_F(RouteLoopTest, OpensAgainWithBackoffUntilItWorks) {
  source_.opens = {Error(ErrorKind::not_connected, "down"), Error(ErrorKind::transient, "busy")};
  start_gated(ConsumerTraits());
  EXPECT_EQ(source_.opened, 1);
  EXPECT_EQ(counters_.trouble, "down");
  EXPECT_NE(counters_.state, RouteState::started);
  harness_.advance(std::chrono::minutes(1));
  EXPECT_EQ(source_.opened, 3);
  EXPECT_EQ(counters_.trouble, "");
  EXPECT_EQ(counters_.state, RouteState::started);
  EXPECT_TRUE(harness_.captured.contains("cannot open fake:x, trying again: down"));
}

TEST_F(RouteLoopTest, AConfigurationErrorAtOpenEndsTheEngine) {
  source_.opens = {Error(ErrorKind::config, "no such table")};
  start_gated(ConsumerTraits());
  EXPECT_EQ(fatal_, "no such table");
  harness_.advance(std::chrono::minutes(1));
  EXPECT_EQ(source_.opened, 1);
}

TEST_F(RouteLoopTest, ReopensAfterALostConnectionWhenAllInFlightIsSettled) {
  start_gated(many(10));
  offer({{"1", ""}});
  source_.polls.emplace_back(Error(ErrorKind::not_connected, "gone"));
  source_.alarm->ring();
  harness_.settle();
  EXPECT_EQ(source_.closed, 0);
  let("1");
  EXPECT_EQ(source_.closed, 1);
  harness_.advance(std::chrono::minutes(1));
  EXPECT_EQ(source_.opened, 2);
}

TEST_F(RouteLoopTest, StopFinishesWhatRunsAndReleasesWhatHasNotBegun) {
  start_gated(ConsumerTraits());
  offer({{"1", ""}, {"2", ""}});
  stop();
  EXPECT_FALSE(loop_->done());
  let("1");
  EXPECT_EQ(source_.settled, (Texts{"1:done", "2:released"}));
  EXPECT_TRUE(loop_->done());
  EXPECT_EQ(source_.closed, 1);
}

TEST_F(RouteLoopTest, StopStillAnswersRequestsThatWait) {
  start_gated(ConsumerTraits());
  Batch batch;
  batch.emplace_back(Message{Value("1"), {}}, ExchangePattern::in_out);
  batch.emplace_back(Message{Value("2"), {}}, ExchangePattern::in_out);
  source_.polls.emplace_back(std::move(batch));
  source_.alarm->ring();
  harness_.settle();
  stop();
  let("1");
  let("2");
  EXPECT_EQ(source_.settled, (Texts{"1:done", "2:done"}));
}

TEST_F(RouteLoopTest, AnInternalSourceIsDrainedBeforeItEnds) {
  ConsumerTraits traits;
  traits.internal = true;
  start_gated(traits);
  offer({{"1", ""}});
  source_.offer({{"2", ""}});
  stop();
  let("1");
  let("2");
  EXPECT_EQ(source_.settled, (Texts{"1:done", "2:done"}));
  EXPECT_TRUE(loop_->done());
}

TEST_F(RouteLoopTest, StopTwiceIsStopOnce) {
  start_gated(many(10));
  offer({{"1", ""}});
  stop();
  stop();
  let("1");
  EXPECT_TRUE(loop_->done());
  EXPECT_EQ(source_.closed, 1);
}

TEST_F(RouteLoopTest, StopDuringABackoffEndsAtOnce) {
  source_.opens = {Error(ErrorKind::not_connected, "down")};
  start_gated(ConsumerTraits());
  stop();
  EXPECT_TRUE(loop_->done());
  EXPECT_EQ(source_.opened, 1);
}

TEST_F(RouteLoopTest, StopWhileTheSourceOpensEndsToo) {
  source_.slow_open = true;
  start_gated({});
  stop();
  EXPECT_FALSE(loop_->done());
  source_.slow_open = false;
  source_.alarm->ring();
  harness_.settle();
  EXPECT_TRUE(loop_->done());
  EXPECT_EQ(source_.closed, 1);
}

TEST_F(RouteLoopTest, SaysSoWhenAcknowledgingFails) {
  source_.settle_answer = Error(ErrorKind::not_connected, "connection lost");
  start_gated(ConsumerTraits());
  offer({{"1", ""}});
  let("1");
  EXPECT_TRUE(harness_.captured.contains("the source will deliver again: connection lost"));
  EXPECT_EQ(loop_->in_flight(), 0U);
}

}  // namespace
}  // namespace drom
