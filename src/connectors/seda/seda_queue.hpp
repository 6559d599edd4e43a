// The queues behind seda:, one per name, shared by all endpoints of an engine. A queue hands items
// to its consumers and wakes them only when they wait, so that a busy queue costs no wake-ups.
// Shard thread only.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drom/model/exchange.hpp"
#include "drom/rt/clock.hpp"
#include "rt/wait_list.hpp"

namespace drom::seda {

// What a sender waits for. Both sides hold it: whoever comes late finds nobody and is ignored.
struct Reply {
  std::unique_ptr<Alarm> alarm;
  size_t pending = 1;  // consumers that have not answered (several with multipleConsumers)
  std::optional<Exchange> answer;
  std::optional<Error> failure;

  void answered(Exchange exchange);
  void failed(Error error);
};

struct Item {
  Exchange exchange;
  std::shared_ptr<Reply> reply;  // null: nobody waits
};

// Where consumers take from: one for all competing consumers, or one each with multipleConsumers.
struct Inbox {
  std::deque<Item> items;
  WaitList consumers;
};

class Queue {
 public:
  explicit Queue(std::string name) : name_(std::move(name)) {}

  // The first size given decides; another one is a config error.
  Result<void> fix_size(size_t size, bool given);
  bool full() const;
  // The caller has looked at full(). With several inboxes each gets a copy.
  void push(Item item);
  // Takes back what nobody has started; for a sender that gave up.
  void withdraw(const Reply& reply);

  // An inbox of its own for a consumer with multipleConsumers, else the common one.
  std::shared_ptr<Inbox> subscribe(bool multiple);
  void unsubscribe(const std::shared_ptr<Inbox>& inbox);
  size_t declared() const { return declared_; }

  WaitList space;  // senders that block while the queue is full

 private:
  std::string name_;
  size_t size_ = 1000;
  bool size_given_ = false;
  size_t declared_ = 0;
  std::shared_ptr<Inbox> common_ = std::make_shared<Inbox>();
  std::vector<std::shared_ptr<Inbox>> own_;
};

class Queues {
 public:
  // The queue stays where it is as long as the table lives.
  Queue& queue(const std::string& name) { return queues_.try_emplace(name, name).first->second; }

 private:
  std::map<std::string, Queue, std::less<>> queues_;
};

}  // namespace drom::seda
