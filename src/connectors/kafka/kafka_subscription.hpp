// The membership of one consumer in its group: reads events off librdkafka's queue into the
// acknowledgement window, takes part in rebalances, commits, and pauses what cannot go on. One
// long-lived coroutine (pump) does all of it, so that the group hears from us however slow the
// route is. Owned by the consumer; shard thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/kafka/kafka_client.hpp"
#include "connectors/kafka/kafka_options.hpp"
#include "connectors/kafka/kafka_sender.hpp"
#include "observe/source_lag.hpp"
#include "rt/task_group.hpp"

namespace drom::kafka {

// The payload in the window: a record, and the event that it belongs to.
struct KeptRecord {
  EventPtr event;
  const rd_kafka_message_t* record;
};

// After so long without a record, although there was no end of them before, nothing is fetched.
inline constexpr milliseconds kStarving{20};

class Subscription {
 public:
  using Partition = PartitionWindow::Partition;

  // `news` is called when poll() has reason to look again.
  Subscription(const Services& services, const Options& options, ClientSettings settings,
               std::function<void()> news);

  async<Result<void>> open();
  // Commits what is done, leaves the group, ends the client.
  async<> close();
  bool is_open() const { return client_ != nullptr; }

  // Reads what has arrived, without waiting.
  void drain();
  PartitionWindow& window() { return window_; }
  void settle(uint64_t handle, PartitionWindow::Fate fate, const Error* error);
  // Tells pump() that records were settled.
  void settled();
  // What went wrong since the last call; and what is wrong as long as it lasts.
  std::optional<Error> told();
  std::optional<Error> trouble() const;

  // For a transaction: the offsets as librdkafka takes them, and what to do when they are
  // committed.
  PartitionList offsets_of(const std::vector<PartitionWindow::Commit>& commits) const;
  void committed_by_transaction(const std::vector<uint64_t>& handles,
                                const std::vector<PartitionWindow::Commit>& commits);
  rd_kafka_t* handle() const { return client_->get(); }
  // No commit of ours is under way until release_commits().
  async<> hold_commits();
  void release_commits();
  // Nobody knows what is committed: forget everything and look (by opening anew).
  void read_again();

  // Of the assigned partitions: records of the topic that are not done.
  std::vector<SourceLag> lags() const;
  const std::string& uri() const { return options_.uri; }

 private:
  struct Known {
    std::string topic;
    int32_t number = 0;
    bool paused = false;
    bool placed = false;  // seekTo has been applied
  };

  async<> pump();
  async<> describe();
  milliseconds next_look() const;
  bool may_leave() const;
  void on_event(EventPtr event);
  void on_record(EventPtr event);
  void on_error(rd_kafka_event_t* event);
  void on_commit(rd_kafka_event_t* event);
  void on_rebalance(EventPtr event);
  void take_over(rd_kafka_topic_partition_list_t* list);
  async<> take_over_at(PartitionList list);
  void finish_take_over(rd_kafka_topic_partition_list_t* list);
  void advance_revocation();
  void give_up(const rd_kafka_topic_partition_list_t* list);
  void commit_due();
  void look_after_pauses();
  void look_after_fetching();
  void set_paused(const std::vector<Partition>& partitions, bool paused);
  Partition id_of(const char* topic, int32_t number);
  PartitionList list_of(const std::vector<Partition>& partitions) const;
  bool cooperative() const;
  std::string names(const rd_kafka_topic_partition_list_t* list) const;
  async<Result<void>> start_assigned();

  Services s_;
  const Options& options_;
  ClientSettings settings_;
  std::function<void()> news_;
  std::unique_ptr<Client> client_;
  PartitionWindow window_;
  std::vector<Known> known_;
  std::map<std::pair<std::string, int32_t>, Partition, std::less<>> ids_;
  // The partition of the last record, which is mostly that of the next one.
  const rd_kafka_topic_t* last_topic_ = nullptr;
  int32_t last_number_ = -1;
  Partition last_id_ = 0;

  EventPtr revoking_;  // a revocation that waits for its end
  SteadyTime revoke_at_{};
  bool lost_ = false;  // the partitions are gone already
  std::vector<PartitionWindow::Commit> committing_;
  SteadyTime commit_at_ = SteadyTime::max();
  SteadyTime full_since_ = SteadyTime::max();
  bool all_paused_ = false;
  bool look_at_pauses_ = false;
  bool unread_ = false;     // the queue was left with events in it
  bool held_back_ = false;  // since the last look_after_fetching() had an effect
  SteadyTime starving_since_ = SteadyTime::max();
  bool closing_ = false;
  bool seen_assignment_ = false;  // since open()
  SteadyTime close_at_{};
  bool leaving_ = false;  // librdkafka closes the consumer
  bool hold_commits_ = false;
  WaitList commit_ended_;
  std::optional<Error> down_;     // no broker can be reached, or none lets us in
  std::optional<Error> refused_;  // we may not read, or there is no topic
  std::optional<Error> told_;     // to be told once
  TaskGroup tasks_;               // last: its coroutines use the members above
};

}  // namespace drom::kafka
