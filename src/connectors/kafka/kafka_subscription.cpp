#include "connectors/kafka/kafka_subscription.hpp"

#include <algorithm>
#include <cstring>

#include "connectors/kafka/kafka_error.hpp"
#include "rt/lane.hpp"

namespace drom::kafka {
namespace {

constexpr milliseconds kFullGrace{1000};  // a full window reads nothing for so long, then pauses
constexpr milliseconds kCloseLimit{10'000};
constexpr milliseconds kFirstAssignment{8'000};  // how long close() waits for it
constexpr milliseconds kLook{1000};
constexpr int kBlockingMs = 5000;

void drop(void* kept) { delete static_cast<KeptRecord*>(kept); }

}  // namespace

Subscription::Subscription(const Services& services, const Options& options,
                           ClientSettings settings, std::function<void()> news)
    : s_(services),
      options_(options),
      settings_(std::move(settings)),
      news_(std::move(news)),
      window_(options.policy),
      tasks_(s_.io, s_.clock, s_.log) {}

async<Result<void>> Subscription::open() {
  if (client_) co_return Result<void>();
  Result<std::unique_ptr<Client>> made =
      Client::make(RD_KAFKA_CONSUMER, options_.uri, settings_, {{"statistics.interval.ms", "2000"}},
                   RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_REBALANCE |
                       RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_STATS,
                   s_.io);
  if (!made) co_return made.error();
  client_ = std::move(*made);
  closing_ = leaving_ = seen_assignment_ = lost_ = all_paused_ = unread_ = held_back_ = false;
  starving_since_ = SteadyTime::max();
  commit_at_ = full_since_ = SteadyTime::max();
  down_.reset();
  refused_.reset();
  told_.reset();
  hold_commits_ = false;
  Result<void> started;
  if (options_.assigned.empty()) {
    PartitionList topics(rd_kafka_topic_partition_list_new(4));
    for (const std::string& topic : options_.topics)
      rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    const rd_kafka_resp_err_t error = rd_kafka_subscribe(client_->get(), topics.get());
    if (error) started = kafka_error(options_.uri, error);
  } else {
    started = co_await start_assigned();
  }
  if (!started) {
    std::unique_ptr<Client> client = std::move(client_);
    co_await client->destroy();
    co_return started;
  }
  tasks_.spawn(options_.uri, pump());
  tasks_.spawn(options_.uri, describe());
  co_return started;
}

async<Result<void>> Subscription::start_assigned() {
  PartitionList list(rd_kafka_topic_partition_list_new(4));
  for (const std::string& topic : options_.topics)
    for (const int32_t number : options_.assigned)
      rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), number)->offset =
          RD_KAFKA_OFFSET_STORED;
  if (options_.seek.kind == SeekTo::Kind::timestamp) {
    co_await take_over_at(std::move(list));
  } else {
    take_over(list.get());
  }
  co_return Result<void>();
}

// Says once what there is to read, and whether it is there.
async<> Subscription::describe() {
  struct Found {
    const struct rd_kafka_metadata* data = nullptr;
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
  };
  if (options_.pattern) co_return;
  Lane lane(s_.io, "kafka-topics");
  rd_kafka_t* const handle = client_->get();
  for (const std::string& topic : options_.topics) {
    auto look = [handle, name = topic] {
      Found out;
      rd_kafka_topic_t* about = rd_kafka_topic_new(handle, name.c_str(), nullptr);
      out.error = rd_kafka_metadata(handle, 0, about, &out.data, kBlockingMs);
      rd_kafka_topic_destroy(about);
      return out;
    };
    const Found found = co_await lane.call(look);
    if (found.error || !found.data) continue;  // told by an error event
    for (int t = 0; t < found.data->topic_cnt; ++t) {
      const rd_kafka_metadata_topic& one = found.data->topics[t];
      if (one.err) {
        refused_ = kafka_error(options_.uri, one.err, std::string("topic ") + one.topic);
        told_ = refused_;
        news_();
        continue;
      }
      std::string text = std::string(one.topic) + " has " + std::to_string(one.partition_cnt) +
                         (one.partition_cnt == 1 ? " partition:" : " partitions:");
      for (int p = 0; p < std::min(one.partition_cnt, 32); ++p) {
        const rd_kafka_metadata_partition& part = one.partitions[p];
        text += " " + std::to_string(part.id) + " (leader " + std::to_string(part.leader) + ", " +
                std::to_string(part.replica_cnt) + " replicas, " + std::to_string(part.isr_cnt) +
                " in sync)";
      }
      s_.log.info(options_.uri, text);
    }
    rd_kafka_metadata_destroy(found.data);
  }
}

async<> Subscription::pump() {
  while (true) {
    drain();
    advance_revocation();
    commit_due();
    look_after_pauses();
    look_after_fetching();
    const SteadyTime now = s_.clock.steady();
    if (window_.next_retry() <= now) news_();
    if (closing_ && !revoking_ && committing_.empty() && may_leave()) {
      if (!leaving_) {
        leaving_ = true;
        rd_kafka_error_t* error = rd_kafka_consumer_close_queue(client_->get(), client_->queue());
        if (error) rd_kafka_error_destroy(error);
        continue;
      }
      if (rd_kafka_consumer_closed(client_->get())) break;
    }
    const milliseconds wait = next_look();
    if (wait.count() > 0) co_await client_->wait(wait);
  }
}

// librdkafka before 2.3 ends the process when a member of a cooperative group is destroyed between
// joining and its first assignment (its issue 4312).
bool Subscription::may_leave() const {
  if (rd_kafka_version() >= 0x02030000 || seen_assignment_ || down_ || !cooperative()) return true;
  return s_.clock.steady() >= close_at_;
}

milliseconds Subscription::next_look() const {
  const SteadyTime now = s_.clock.steady();
  SteadyTime next = now + kLook;
  next = std::min({next, window_.next_retry(), committing_.empty() ? commit_at_ : next});
  if (full_since_ != SteadyTime::max() && !all_paused_)
    next = std::min(next, full_since_ + kFullGrace);
  if (starving_since_ != SteadyTime::max()) next = std::min(next, starving_since_ + kStarving);
  if (closing_ || revoking_) next = std::min<SteadyTime>(next, now + milliseconds(50));
  const bool may_read = full_since_ == SteadyTime::max() || all_paused_;
  if (unread_ && may_read) return milliseconds(0);
  return std::max(milliseconds(1), std::chrono::ceil<milliseconds>(next - now));
}

void Subscription::drain() {
  if (!client_) return;
  unread_ = false;
  size_t records = 0;
  while (true) {
    if (window_.held() >= options_.window && !all_paused_ && !closing_) {
      if (full_since_ == SteadyTime::max()) full_since_ = s_.clock.steady();
      unread_ = held_back_ = true;
      break;
    }
    EventPtr event = client_->next();
    if (!event) {
      if (held_back_ && starving_since_ == SteadyTime::max()) {
        starving_since_ = s_.clock.steady();
        client_->interrupt();
      }
      break;
    }
    records += rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_FETCH ? 1 : 0;
    on_event(std::move(event));
  }
  if (records == 0) return;
  starving_since_ = SteadyTime::max();
  news_();
}

void Subscription::on_event(EventPtr event) {
  switch (rd_kafka_event_type(event.get())) {
    case RD_KAFKA_EVENT_FETCH: on_record(std::move(event)); break;
    case RD_KAFKA_EVENT_ERROR: on_error(event.get()); break;
    case RD_KAFKA_EVENT_REBALANCE: on_rebalance(std::move(event)); break;
    case RD_KAFKA_EVENT_OFFSET_COMMIT: on_commit(event.get()); break;
    case RD_KAFKA_EVENT_STATS: {
      // The only sign that a broker is back while nothing is read.
      const char* text = rd_kafka_event_stats(event.get());
      if (!down_ || !text || !std::strstr(text, "\"state\":\"UP\"")) break;
      s_.log.info(options_.uri, "connected again");
      down_.reset();
      client_->connected();
      news_();
      break;
    }
    default: break;
  }
}

void Subscription::on_record(EventPtr event) {
  const rd_kafka_message_t* record = rd_kafka_event_message_next(event.get());
  if (!record) return;
  if (record->err) {
    told_ = kafka_error(options_.uri, record->err, rd_kafka_message_errstr(record));
    return;
  }
  if (record->rkt != last_topic_ || record->partition != last_number_) {
    last_topic_ = record->rkt;
    last_number_ = record->partition;
    last_id_ = id_of(rd_kafka_topic_name(record->rkt), record->partition);
  }
  const int64_t offset = record->offset;
  refused_.reset();
  auto* kept = new KeptRecord{std::move(event), record};
  window_.receive(last_id_, offset, PartitionWindow::Payload(kept, &drop));
}

void Subscription::on_error(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t code = rd_kafka_event_error(event);
  if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    refused_.reset();
    rd_kafka_topic_partition_t* at = rd_kafka_event_topic_partition(event);
    if (!at) return;
    window_.reached_end(id_of(at->topic, at->partition), at->offset);
    rd_kafka_topic_partition_destroy(at);
    if (options_.commits && window_.has_commits()) settled();
    return;
  }
  Error error = client_->trouble(event);
  if (code == RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED) {
    s_.log.warn(options_.uri, "the group has taken our partitions: " + error.what);
    return;
  }
  const bool lasting = is_connection_loss(code) || code == RD_KAFKA_RESP_ERR__AUTHENTICATION ||
                       code == RD_KAFKA_RESP_ERR__SSL;
  // librdkafka goes on trying by itself, so opening anew would change nothing.
  if (error.kind == ErrorKind::not_connected) error.kind = ErrorKind::transient;
  std::optional<Error>& standing = lasting ? down_ : refused_;
  const bool says_more =
      !standing || (standing->kind != error.kind && error.kind == ErrorKind::rejected);
  if (says_more) told_ = error;
  if (says_more && (lasting || error.kind == ErrorKind::rejected)) standing = std::move(error);
  news_();
}

std::optional<Error> Subscription::told() { return std::exchange(told_, std::nullopt); }

std::optional<Error> Subscription::trouble() const { return refused_ ? refused_ : down_; }

void Subscription::settle(uint64_t handle, PartitionWindow::Fate fate, const Error* error) {
  const SteadyTime now = s_.clock.steady();
  const bool was_failing = window_.failing() > 0;
  window_.settle(handle, fate, now, s_.rng.next());
  if (was_failing || fate == PartitionWindow::Fate::failed) look_at_pauses_ = true;
  if (fate == PartitionWindow::Fate::failed && error)
    s_.log.warn(options_.uri, "a record failed and is tried again in place: " + error->message());
}

void Subscription::settled() {
  if (!client_) return;
  bool wake = look_at_pauses_ || revoking_;
  if (options_.commits && commit_at_ == SteadyTime::max() && window_.has_commits()) {
    commit_at_ = s_.clock.steady() + options_.commit_interval;
    wake = true;
  }
  if (full_since_ != SteadyTime::max() && window_.held() <= options_.window / 2) wake = true;
  if (wake) client_->interrupt();
}

void Subscription::commit_due() {
  if (!committing_.empty() || !options_.commits) return;
  const bool now = closing_ || commit_at_ <= s_.clock.steady();
  if (!now || leaving_ || hold_commits_) return;
  commit_at_ = SteadyTime::max();
  committing_ = window_.take_commits();
  if (committing_.empty()) return;
  const PartitionList list = offsets_of(committing_);
  const rd_kafka_resp_err_t error =
      rd_kafka_commit_queue(client_->get(), list.get(), client_->queue(), nullptr, nullptr);
  if (!error) return;
  for (const PartitionWindow::Commit& one : committing_) window_.commit_ended(one, false);
  committing_.clear();
}

void Subscription::on_commit(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t error = rd_kafka_event_error(event);
  const rd_kafka_topic_partition_list_t* list = rd_kafka_event_topic_partition_list(event);
  bool again = false;
  for (const PartitionWindow::Commit& one : committing_) {
    const Known& known = known_[one.partition];
    rd_kafka_resp_err_t failed = error;
    if (!failed && list) {
      const rd_kafka_topic_partition_t* at =
          rd_kafka_topic_partition_list_find(list, known.topic.c_str(), known.number);
      if (at) failed = at->err;
    }
    window_.commit_ended(one, !failed);
    if (!failed) continue;
    again = true;
    s_.log.debug(options_.uri, "committing " + known.topic + " " + std::to_string(known.number) +
                                   " failed: " + rd_kafka_err2str(failed));
  }
  committing_.clear();
  commit_ended_.ring_all();
  if (again && closing_) {
    // The next owner begins where the last commit was; nothing is lost.
    s_.log.warn(options_.uri, std::string("the last commit failed, records will come again: ") +
                                  rd_kafka_err2str(error));
    closing_ = true;
    leaving_ = false;
    for (Partition p = 0; p < known_.size(); ++p) window_.revoke(p);
  } else if (again) {
    commit_at_ = s_.clock.steady() + std::max(options_.commit_interval, milliseconds(100));
  } else {
    settled();
  }
}

async<> Subscription::close() {
  if (!client_) co_return;
  close_at_ = s_.clock.steady() + kFirstAssignment;
  closing_ = true;
  client_->interrupt();
  const bool ended = co_await tasks_.wait(kCloseLimit);
  if (!ended) {
    s_.log.warn(options_.uri, "could not leave the group in time; it will notice by itself");
    tasks_.cancel();
    while (!tasks_.empty()) co_await tasks_.wait(kCloseLimit);
  }
  for (Partition p = 0; p < known_.size(); ++p) window_.revoke(p);
  for (Known& known : known_) known.paused = false;
  revoking_.reset();
  committing_.clear();
  last_topic_ = nullptr;
  while (client_->next()) continue;
  std::unique_ptr<Client> client = std::move(client_);
  co_await client->destroy();
}

PartitionList Subscription::offsets_of(const std::vector<PartitionWindow::Commit>& commits) const {
  PartitionList out(rd_kafka_topic_partition_list_new(static_cast<int>(commits.size())));
  for (const PartitionWindow::Commit& one : commits) {
    const Known& known = known_[one.partition];
    rd_kafka_topic_partition_list_add(out.get(), known.topic.c_str(), known.number)->offset =
        one.offset;
  }
  return out;
}

void Subscription::committed_by_transaction(const std::vector<uint64_t>& handles,
                                            const std::vector<PartitionWindow::Commit>& commits) {
  for (const uint64_t handle : handles) settle(handle, PartitionWindow::Fate::done, nullptr);
  for (const PartitionWindow::Commit& one : commits) window_.commit_ended(one, true);
}

// A commit of ours that came to the broker after that of a transaction would set the group back.
async<> Subscription::hold_commits() {
  hold_commits_ = true;
  while (!committing_.empty()) co_await commit_ended_.wait(s_.clock, kLook);
}

void Subscription::release_commits() {
  hold_commits_ = false;
  settled();
}

void Subscription::read_again() {
  for (Partition p = 0; p < known_.size(); ++p) window_.revoke(p);
  told_ = Error(ErrorKind::not_connected,
                options_.uri + ": whether a transaction was committed is not known",
                "the group's offsets tell; the source is read again from there");
  news_();
}

std::vector<SourceLag> Subscription::lags() const {
  std::vector<SourceLag> out;
  if (!client_) return out;
  for (Partition p = 0; p < known_.size(); ++p) {
    const std::optional<int64_t> done = window_.done_prefix(p);
    if (!done) continue;
    const Known& known = known_[p];
    int64_t low = 0;
    int64_t high = 0;
    if (rd_kafka_get_watermark_offsets(client_->get(), known.topic.c_str(), known.number, &low,
                                       &high) != RD_KAFKA_RESP_ERR_NO_ERROR)
      continue;
    if (high >= 0) out.push_back({known.topic, known.number, std::max<int64_t>(0, high - *done)});
  }
  return out;
}

}  // namespace drom::kafka
