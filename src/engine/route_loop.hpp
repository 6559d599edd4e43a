// Drives one pull source: open, poll, run, settle, and again after a lost connection. Exchanges run
// one after another; sources that allow more in flight get a pool of long-lived workers, and keyed
// sources never run two exchanges of one key at once. A route that only sends at its end, by a
// producer that pipelines, gets a window: a worker then takes all that is ready at once, and what
// fails is redelivered alone, beside the others. Owned by the engine; shard thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "drom/spi/endpoint.hpp"
#include "engine/route_runner.hpp"
#include "rt/task_group.hpp"

namespace drom {

struct LoopServices {
  Clock& clock;
  Log& log;
  Rng& rng;
  TaskGroup& tasks;
  StopSource& stop;
  uint64_t& serial;                         // the engine's counter of exchanges
  std::function<void(const Error&)> fatal;  // the source can never work: the engine must end
};

class RouteLoop {
 public:
  RouteLoop(LoopServices services, RouteRunner& runner, std::unique_ptr<Consumer> consumer,
            std::string uri);

  // Until stop() and everything in flight is settled; then the consumer is closed.
  async<> run();
  void stop();
  bool done() const { return done_; }
  bool internal() const { return consumer_->traits().internal; }
  size_t in_flight() const { return in_flight_; }
  const std::string& route_id() const { return runner_.id(); }

 private:
  struct Worker {
    std::unique_ptr<Alarm> alarm;
    bool idle = false;
  };

  async<> poll_until_stopped();
  async<bool> open_consumer();
  async<> backoff();
  async<> run_in_turn(Batch batch);
  async<> run_together(Batch batch);
  void dispatch(Batch batch);
  async<> work(Worker* worker);
  async<> run_next();
  async<> run_next_sends();
  async<> run_next_recovery();
  bool gives_back(const Exchange& exchange) const;
  void finish(Exchange exchange, Outcome outcome);
  async<> settle(std::vector<Receipt> receipts);
  async<> settle_pending();
  void wake_worker();
  void prepare(Batch& batch);

  LoopServices s_;
  RouteRunner& runner_;
  std::unique_ptr<Consumer> consumer_;
  std::string uri_;
  ConsumerTraits traits_;
  bool pipelined_ = false;  // the route only sends at its end: see ConsumerTraits::window
  bool stopping_ = false;
  bool done_ = false;
  int failures_ = 0;  // opens and polls in a row that failed
  size_t in_flight_ = 0;
  std::unique_ptr<Alarm> changed_;  // something was settled

  // Worker pool.
  std::deque<Exchange> ready_;
  std::deque<RouteRunner::FailedSend> to_recover_;
  std::unordered_map<std::string, std::deque<Exchange>>
      by_key_;  // a key in flight -> its later ones
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Receipt> finished_;
  bool settling_ = false;
  size_t workers_running_ = 0;
  bool closing_ = false;
};

}  // namespace drom
