// What a subscription does when partitions come, go, or must rest.
#include <algorithm>

#include "connectors/kafka/kafka_error.hpp"
#include "connectors/kafka/kafka_subscription.hpp"
#include "rt/lane.hpp"

namespace drom::kafka {
namespace {

constexpr milliseconds kRevokeLimit{3000};  // for what is on its way, and for the commit
constexpr int kBlockingMs = 5000;
// A partition whose first undone record stays so long behind rests until it is through.
constexpr size_t kSpanMax = 100'000;

}  // namespace

Subscription::Partition Subscription::id_of(const char* topic, int32_t number) {
  const auto [at, is_new] =
      ids_.try_emplace({topic, number}, static_cast<Partition>(known_.size()));
  if (is_new) {
    Known known;
    known.topic = topic;
    known.number = number;
    known_.push_back(std::move(known));
  }
  return at->second;
}

bool Subscription::cooperative() const {
  const char* protocol = rd_kafka_rebalance_protocol(client_->get());
  return protocol && std::string_view(protocol) == "COOPERATIVE";
}

std::string Subscription::names(const rd_kafka_topic_partition_list_t* list) const {
  std::string out;
  for (int i = 0; i < std::min(list->cnt, 64); ++i)
    out += (i ? ", " : "") + std::string(list->elems[i].topic) + " " +
           std::to_string(list->elems[i].partition);
  if (list->cnt > 64) out += ", ...";
  return out.empty() ? "none" : out;
}

void Subscription::on_rebalance(EventPtr event) {
  rd_kafka_topic_partition_list_t* list = rd_kafka_event_topic_partition_list(event.get());
  if (rd_kafka_event_error(event.get()) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    seen_assignment_ = true;
    down_.reset();
    if (list->cnt > 0) refused_.reset();
    if (options_.seek.kind == SeekTo::Kind::timestamp && list->cnt > 0) {
      tasks_.spawn(options_.uri,
                   take_over_at(PartitionList(rd_kafka_topic_partition_list_copy(list))));
    } else {
      take_over(list);
    }
    return;
  }
  if (revoking_) advance_revocation();
  lost_ = rd_kafka_assignment_lost(client_->get()) == 1;
  revoke_at_ = s_.clock.steady() + kRevokeLimit;
  for (int i = 0; i < list->cnt; ++i)
    window_.retire(id_of(list->elems[i].topic, list->elems[i].partition));
  revoking_ = std::move(event);
  advance_revocation();
}

// The first look at a partition may begin elsewhere than the group's offset says.
void Subscription::take_over(rd_kafka_topic_partition_list_t* list) {
  for (int i = 0; i < list->cnt; ++i) {
    rd_kafka_topic_partition_t& one = list->elems[i];
    Known& known = known_[id_of(one.topic, one.partition)];
    if (std::exchange(known.placed, true)) continue;
    switch (options_.seek.kind) {
      case SeekTo::Kind::beginning: one.offset = RD_KAFKA_OFFSET_BEGINNING; break;
      case SeekTo::Kind::end: one.offset = RD_KAFKA_OFFSET_END; break;
      case SeekTo::Kind::offset: one.offset = options_.seek.value; break;
      default: break;
    }
  }
  finish_take_over(list);
}

async<> Subscription::take_over_at(PartitionList list) {
  PartitionList fresh(rd_kafka_topic_partition_list_new(list->cnt));
  for (int i = 0; i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& one = list->elems[i];
    if (std::exchange(known_[id_of(one.topic, one.partition)].placed, true)) continue;
    rd_kafka_topic_partition_list_add(fresh.get(), one.topic, one.partition)->offset =
        options_.seek.value;
  }
  if (fresh->cnt > 0) {
    Lane lane(s_.io, "kafka-seek");
    rd_kafka_t* const handle = client_->get();
    rd_kafka_topic_partition_list_t* const asked = fresh.get();
    auto look = [handle, asked] { return rd_kafka_offsets_for_times(handle, asked, kBlockingMs); };
    const rd_kafka_resp_err_t error = co_await lane.call(look);
    if (error)
      s_.log.warn(options_.uri, "the offsets of the time in seekTo are not known: " +
                                    kafka_error(options_.uri, error).message());
    for (int i = 0; !error && i < fresh->cnt; ++i) {
      rd_kafka_topic_partition_t* one = rd_kafka_topic_partition_list_find(
          list.get(), fresh->elems[i].topic, fresh->elems[i].partition);
      if (one && !fresh->elems[i].err) one->offset = fresh->elems[i].offset;
    }
  }
  finish_take_over(list.get());
}

void Subscription::finish_take_over(rd_kafka_topic_partition_list_t* list) {
  for (int i = 0; i < list->cnt; ++i) {
    const Partition id = id_of(list->elems[i].topic, list->elems[i].partition);
    window_.assign(id);
    known_[id].paused = false;
  }
  look_at_pauses_ = true;
  rd_kafka_error_t* error = nullptr;
  if (options_.assigned.empty() && cooperative()) {
    error = rd_kafka_incremental_assign(client_->get(), list);
  } else if (const rd_kafka_resp_err_t code = rd_kafka_assign(client_->get(), list)) {
    told_ = kafka_error(options_.uri, code);
  }
  if (error) told_ = take_error(options_.uri, error);
  s_.log.info(options_.uri, "reads " + names(list));
}

// What is on its way may end, what is done is committed; then, or when the time is over, the
// partitions are given up. Whatever ends later is ignored.
void Subscription::advance_revocation() {
  if (!revoking_) return;
  const rd_kafka_topic_partition_list_t* list =
      rd_kafka_event_topic_partition_list(revoking_.get());
  if (!lost_ && s_.clock.steady() < revoke_at_) {
    for (int i = 0; i < list->cnt; ++i)
      if (window_.out(id_of(list->elems[i].topic, list->elems[i].partition)) > 0) return;
    if (options_.commits && committing_.empty() && window_.has_commits()) {
      commit_at_ = s_.clock.steady();
      commit_due();
    }
    if (!committing_.empty()) return;
  }
  give_up(list);
  revoking_.reset();
}

void Subscription::give_up(const rd_kafka_topic_partition_list_t* list) {
  for (int i = 0; i < list->cnt; ++i)
    window_.revoke(id_of(list->elems[i].topic, list->elems[i].partition));
  look_at_pauses_ = true;
  if (cooperative()) {
    if (rd_kafka_error_t* error = rd_kafka_incremental_unassign(client_->get(), list))
      s_.log.debug(options_.uri, take_error(options_.uri, error).message());
  } else {
    rd_kafka_assign(client_->get(), nullptr);
  }
  s_.log.info(options_.uri, (lost_ ? "has lost " : "has given up ") + names(list));
}

PartitionList Subscription::list_of(const std::vector<Partition>& partitions) const {
  PartitionList out(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const Partition p : partitions)
    rd_kafka_topic_partition_list_add(out.get(), known_[p].topic.c_str(), known_[p].number);
  return out;
}

// A full window first just reads nothing, which costs nothing; when it stays full the partitions
// are paused, so that the queue can be read for the group's sake. A partition with a failed record
// rests alone.
void Subscription::look_after_pauses() {
  const SteadyTime now = s_.clock.steady();
  const size_t held = window_.held();
  if (held <= options_.window / 2 && full_since_ != SteadyTime::max()) {
    full_since_ = SteadyTime::max();
    look_at_pauses_ = look_at_pauses_ || std::exchange(all_paused_, false);
  }
  const milliseconds grace = std::min(milliseconds(1000), options_.max_poll_interval / 4);
  if (full_since_ != SteadyTime::max() && !all_paused_ && now - full_since_ >= grace) {
    all_paused_ = look_at_pauses_ = true;
  }
  if (!std::exchange(look_at_pauses_, false)) return;
  std::vector<Partition> rest;
  std::vector<Partition> go_on;
  for (Partition p = 0; p < known_.size(); ++p) {
    if (!window_.assigned(p)) continue;
    const bool failing = options_.policy.stop_at_failure && window_.failing(p);
    const bool wanted = all_paused_ || failing || window_.span(p) > kSpanMax;
    if (wanted != known_[p].paused) (wanted ? rest : go_on).push_back(p);
  }
  set_paused(rest, true);
  set_paused(go_on, false);
}

// While we leave its queue unread, librdkafka fills it and then looks only once a second whether
// there is room again. When we have emptied it by then, seeking to where we are wakes the thread
// that fetches; what a fetch brings meanwhile comes again.
void Subscription::look_after_fetching() {
  if (starving_since_ == SteadyTime::max() || s_.clock.steady() < starving_since_ + kStarving)
    return;
  starving_since_ = SteadyTime::max();
  held_back_ = false;
  if (rd_kafka_version() >= kQueueBackoffSince || closing_ || revoking_) return;
  std::vector<Partition> awake;
  for (Partition p = 0; p < known_.size(); ++p)
    if (window_.assigned(p) && !known_[p].paused) awake.push_back(p);
  if (awake.empty()) return;
  const PartitionList list = list_of(awake);
  if (rd_kafka_position(client_->get(), list.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  for (int i = list->cnt - 1; i >= 0; --i)
    if (list->elems[i].offset < 0) rd_kafka_topic_partition_list_del_by_idx(list.get(), i);
  rd_kafka_error_t* const error = rd_kafka_seek_partitions(client_->get(), list.get(), 0);
  if (error) rd_kafka_error_destroy(error);  // it looks by itself before long
}

void Subscription::set_paused(const std::vector<Partition>& partitions, bool paused) {
  if (partitions.empty()) return;
  const PartitionList list = list_of(partitions);
  if (paused) {
    rd_kafka_pause_partitions(client_->get(), list.get());
  } else {
    rd_kafka_resume_partitions(client_->get(), list.get());
  }
  for (const Partition p : partitions) known_[p].paused = paused;
}

}  // namespace drom::kafka
