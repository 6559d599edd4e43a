// Who fills the outbox while everything falls apart: some write through an engine's HTTP route
// (whose unit of work is under test), some straight into the database as any other program would.
// They keep the intent log. Others deliver old events to the inbox again, also twice at once.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "chaos/sink.hpp"
#include "chaos/store.hpp"

namespace drom::chaos {

struct WriterOptions {
  std::string prefix;             // of all ids
  std::vector<uint16_t> engines;  // ports of the write and apply routes
  std::function<std::unique_ptr<Store>()> open_store;
  size_t keys = 24;
  size_t through_engine = 3;  // threads
  size_t direct = 1;
  milliseconds pause{12};  // between two transactions of a thread, on average
  uint64_t seed = 1;
  unsigned poison_percent = 2;  // of the events
};

class Writers {
 public:
  Writers(WriterOptions options, const Sink& sink);
  ~Writers() { stop(); }
  void start();
  // Waits for what is under way.
  void stop();
  const std::vector<Intent>& intents() const { return intents_; }  // when stopped
  uint64_t replays() const { return replays_; }

 private:
  void write(size_t number, bool direct);
  void replay();
  NewTransaction make(uint64_t& dice, const std::string& tx, bool direct) const;
  Intent::Outcome through_engine(const NewTransaction& t, uint16_t port) const;
  void note(const NewTransaction& t, Intent::Outcome outcome);
  uint16_t some_engine(uint64_t& dice) const;
  void pause(uint64_t& dice) const;

  WriterOptions options_;
  const Sink& sink_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> replays_{0};
  std::atomic<uint64_t> transactions_{0};
  std::atomic<uint64_t> starts_{0};
  std::mutex mutex_;
  std::vector<Intent> intents_;
  std::vector<std::thread> threads_;
};

}  // namespace drom::chaos
