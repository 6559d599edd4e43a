#include "engine/route_loop.hpp"

#include <set>

namespace drom {
namespace {

constexpr size_t kWorkersMax = 256;
constexpr size_t kPollsInWindow = 4;
constexpr milliseconds kBackoffMin{100};
constexpr milliseconds kBackoffMax{30'000};

Outcome outcome_of(const Exchange& exchange) {
  if (!exchange.failed()) return Outcome::done;
  return exchange.error->kind == ErrorKind::cancelled ? Outcome::released : Outcome::failed;
}

Receipt receipt_of(Exchange exchange) {
  const Outcome outcome = outcome_of(exchange);
  return Receipt{std::move(exchange), outcome};
}

}  // namespace

RouteLoop::RouteLoop(LoopServices services, RouteRunner& runner, std::unique_ptr<Consumer> consumer,
                     std::string uri)
    : s_(std::move(services)),
      runner_(runner),
      consumer_(std::move(consumer)),
      uri_(std::move(uri)),
      traits_(consumer_->traits()),
      changed_(s_.clock.make_alarm()) {}

void RouteLoop::stop() {
  stopping_ = true;
  consumer_->stop();
  changed_->ring();
}

async<> RouteLoop::run() {
  const size_t window = std::max(traits_.in_flight_max, traits_.window);
  pipelined_ = window > 1 && runner_.pipelines() && !runner_.batchwise();
  if (pipelined_) {
    traits_.in_flight_max = window;
    // Some of the window stays free for what comes while the first ones wait.
    traits_.poll_max = std::max<size_t>(1, window / kPollsInWindow);
  }
  while (!stopping_) {
    const bool opened = co_await open_consumer();
    if (!opened) continue;
    if (stopping_) consumer_->stop();  // opening has forgotten the one that came meanwhile
    co_await poll_until_stopped();
    while (in_flight_ > 0) co_await changed_->wait(milliseconds::max());
    co_await consumer_->close();
    if (!stopping_) co_await backoff();
  }
  closing_ = true;
  for (const auto& worker : workers_) worker->alarm->ring();
  while (workers_running_ > 0) co_await changed_->wait(milliseconds::max());
  done_ = true;
}

async<bool> RouteLoop::open_consumer() {
  Result<void> opened = co_await consumer_->open();
  RouteCounters& counters = runner_.counters();
  if (opened) {
    failures_ = 0;
    if (!stopping_) counters.state = RouteState::started;
    counters.trouble.clear();
    co_return true;
  }
  if (stopping_) co_return false;
  counters.trouble = opened.error().message();
  if (opened.error().kind == ErrorKind::config) {
    s_.fatal(opened.error());
    stopping_ = true;
    co_return false;
  }
  s_.log.warn(runner_.id(), "cannot open " + uri_ + ", trying again: " + opened.error().message());
  co_await consumer_->close();
  co_await backoff();
  co_return false;
}

async<> RouteLoop::backoff() {
  const int doublings = std::min(failures_++, 16);
  const milliseconds full = std::min(kBackoffMax, kBackoffMin * (int64_t{1} << doublings));
  const milliseconds wait(s_.rng.between(full.count() / 2, full.count()));
  co_await s_.stop.sleep(s_.clock, wait, false);
}

void RouteLoop::prepare(Batch& batch) {
  const WallTime now = s_.clock.wall();
  for (Exchange& exchange : batch) {
    exchange.serial = ++s_.serial;
    if (exchange.created == WallTime()) exchange.created = now;
  }
  in_flight_ += batch.size();
  runner_.counters().received += batch.size();
}

async<> RouteLoop::poll_until_stopped() {
  while (true) {
    const bool together = runner_.batchwise();
    const size_t room = traits_.in_flight_max > in_flight_ ? traits_.in_flight_max - in_flight_ : 0;
    if (room == 0 && in_flight_ > 0) {
      co_await changed_->wait(milliseconds::max());
      continue;
    }
    const bool in_turn = traits_.in_flight_max == 1;
    const size_t want = in_turn || together ? traits_.poll_max : std::min(room, traits_.poll_max);
    Result<Batch> polled = co_await consumer_->poll(want);
    if (!polled) {
      if (stopping_) co_return;
      runner_.counters().trouble = polled.error().message();
      s_.log.warn(runner_.id(), "polling " + uri_ + " failed: " + polled.error().message());
      if (polled.error().kind == ErrorKind::not_connected) co_return;
      co_await backoff();
      continue;
    }
    failures_ = 0;
    runner_.counters().trouble.clear();
    if (polled->empty()) {
      if (stopping_) co_return;
      continue;
    }
    Batch batch = std::move(*polled);
    prepare(batch);
    if (together) {
      co_await run_together(std::move(batch));
    } else if (in_turn) {
      co_await run_in_turn(std::move(batch));
    } else {
      dispatch(std::move(batch));
    }
  }
}

async<> RouteLoop::run_together(Batch batch) {
  co_await runner_.run_batch(batch);
  std::vector<Receipt> receipts;
  receipts.reserve(batch.size());
  // After one that stays undone, later exchanges of its key must come again behind it.
  std::set<std::string> undone;
  for (Exchange& exchange : batch) {
    Receipt receipt = receipt_of(std::move(exchange));
    const std::string& key = receipt.exchange.key;
    if (traits_.keyed && !key.empty()) {
      if (undone.contains(key)) receipt.outcome = Outcome::released;
      if (receipt.outcome != Outcome::done) undone.insert(key);
    }
    receipts.push_back(std::move(receipt));
  }
  co_await settle(std::move(receipts));
}

async<> RouteLoop::run_in_turn(Batch batch) {
  // As in run_together(): nothing passes an undone one of its key.
  std::set<std::string> undone;
  for (Exchange& exchange : batch) {
    std::vector<Receipt> receipts;
    const std::string key = traits_.keyed ? exchange.key : std::string();
    if (gives_back(exchange) || undone.contains(key)) {
      receipts.push_back(Receipt{std::move(exchange), Outcome::released});
    } else {
      Batch one;
      one.push_back(std::move(exchange));
      co_await runner_.run_batch(one);
      receipts.push_back(receipt_of(std::move(one.front())));
    }
    if (!key.empty() && receipts.front().outcome != Outcome::done) undone.insert(key);
    co_await settle(std::move(receipts));
  }
}

void RouteLoop::dispatch(Batch batch) {
  for (Exchange& exchange : batch) {
    if (traits_.keyed && !exchange.key.empty()) {
      const auto [at, is_new] = by_key_.try_emplace(exchange.key);
      if (!is_new) {
        at->second.push_back(std::move(exchange));
        continue;
      }
    }
    ready_.push_back(std::move(exchange));
    if (!pipelined_) wake_worker();
  }
  if (pipelined_ && !ready_.empty()) wake_worker();
}

void RouteLoop::wake_worker() {
  for (const auto& worker : workers_) {
    if (!worker->idle) continue;
    worker->idle = false;
    worker->alarm->ring();
    return;
  }
  if (workers_.size() >= std::min(traits_.in_flight_max, kWorkersMax)) return;
  workers_.push_back(std::make_unique<Worker>());
  Worker* worker = workers_.back().get();
  worker->alarm = s_.clock.make_alarm();
  ++workers_running_;
  s_.tasks.spawn(runner_.id(), work(worker));
}

async<> RouteLoop::work(Worker* worker) {
  // Counts itself out also when it is cancelled.
  struct Leave {
    RouteLoop& loop;
    ~Leave() {
      --loop.workers_running_;
      loop.changed_->ring();
    }
  };
  const Leave leave{*this};
  while (true) {
    if (ready_.empty() && to_recover_.empty()) {
      if (closing_) co_return;
      worker->idle = true;
      co_await worker->alarm->wait(milliseconds::max());
      worker->idle = false;
      continue;
    }
    co_await run_next();
    co_await settle_pending();
  }
}

async<> RouteLoop::run_next() {
  if (!to_recover_.empty()) co_return co_await run_next_recovery();
  if (pipelined_) co_return co_await run_next_sends();
  Batch batch;
  batch.push_back(std::move(ready_.front()));
  ready_.pop_front();
  if (gives_back(batch.front())) {
    finish(std::move(batch.front()), Outcome::released);
    co_return;
  }
  co_await runner_.run_batch(batch);
  const Outcome outcome = outcome_of(batch.front());
  finish(std::move(batch.front()), outcome);
}

async<> RouteLoop::run_next_sends() {
  Batch batch;
  std::deque<Exchange> taken;
  taken.swap(ready_);  // finish() may add
  for (Exchange& exchange : taken) {
    if (gives_back(exchange)) {
      finish(std::move(exchange), Outcome::released);
    } else {
      batch.push_back(std::move(exchange));
    }
  }
  if (batch.empty()) co_return;
  std::vector<RouteRunner::FailedSend> failed;
  co_await runner_.run_to_send(batch, failed);
  for (Exchange& exchange : batch) {
    const Outcome outcome = outcome_of(exchange);
    finish(std::move(exchange), outcome);
  }
  for (RouteRunner::FailedSend& one : failed) {
    to_recover_.push_back(std::move(one));
    wake_worker();
  }
  if (!ready_.empty()) wake_worker();  // we may be busy with acknowledging
}

async<> RouteLoop::run_next_recovery() {
  RouteRunner::FailedSend failed = std::move(to_recover_.front());
  to_recover_.pop_front();
  co_await runner_.recover(failed);
  const Outcome outcome = outcome_of(failed.exchange);
  finish(std::move(failed.exchange), outcome);
}

// While stopping, what has not begun goes back to its source, unless somebody waits for the answer
// or nobody outside keeps it.
bool RouteLoop::gives_back(const Exchange& exchange) const {
  return stopping_ && !traits_.internal && exchange.pattern == ExchangePattern::in_only;
}

void RouteLoop::finish(Exchange exchange, Outcome outcome) {
  const std::string key = traits_.keyed ? exchange.key : std::string();
  finished_.push_back(Receipt{std::move(exchange), outcome});
  if (key.empty()) return;
  const auto at = by_key_.find(key);
  DROM_ASSERT(at != by_key_.end());
  std::deque<Exchange>& later = at->second;
  if (outcome != Outcome::done) {
    // Later exchanges of the key must not overtake: the source will give them again after this one.
    for (Exchange& waiting : later)
      finished_.push_back(Receipt{std::move(waiting), Outcome::released});
    later.clear();
  }
  if (later.empty()) {
    by_key_.erase(at);
    return;
  }
  ready_.push_back(std::move(later.front()));
  later.pop_front();
}

async<> RouteLoop::settle_pending() {
  if (settling_) co_return;
  settling_ = true;
  while (!finished_.empty()) {
    std::vector<Receipt> receipts = std::move(finished_);
    finished_.clear();
    co_await settle(std::move(receipts));
  }
  settling_ = false;
}

async<> RouteLoop::settle(std::vector<Receipt> receipts) {
  const size_t count = receipts.size();
  RouteCounters& counters = runner_.counters();
  for (const Receipt& receipt : receipts) {
    switch (receipt.outcome) {
      case Outcome::done: ++counters.completed; break;
      case Outcome::failed: ++counters.failed; break;
      case Outcome::released: ++counters.released; break;
    }
  }
  Result<void> settled = co_await consumer_->settle(std::move(receipts));
  if (!settled)
    s_.log.warn(runner_.id(),
                "acknowledging to " + uri_ +
                    " failed, the source will deliver again: " + settled.error().message());
  in_flight_ -= count;
  changed_->ring();
}

}  // namespace drom
