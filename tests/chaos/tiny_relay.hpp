// A whole outbox system in one small class, right or with one of the classic mistakes built in: the
// judge must catch every mistake and pass the right one. Nothing here is used by the engine.
#pragma once

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "chaos/history.hpp"

namespace drom::chaos {

enum class Mistake : uint8_t {
  none,
  mark_before_publish,
  ack_before_commit,
  cursor_by_id,
  no_fencing,
  unordered_retry,
  lost_last_batch_on_sigterm,
  inbox_outside_the_transaction,
  dedup_key_without_consumer,
  payload_truncated,
  dead_letter_dropped,
  retry_with_new_id,
  skip_on_nack,
  publish_before_commit,
  gives_up_after_an_outage,
  half_a_transaction,
};

class TinyRelay {
 public:
  TinyRelay(Mistake mistake, uint64_t seed) : mistake_(mistake), dice_(seed * 2654435761u + 17) {
    history_.destination = "sink";
    history_.in_flight_max = kBatch;
  }

  History run() {
    for (now_ = 1; now_ <= 2000; ++now_) tick();
    faults_ = false;
    for (; now_ <= 2800; ++now_) tick();
    for (const Row& row : rows_)
      if (row.visible) history_.truth.push_back(row.truth);
    return std::move(history_);
  }

 private:
  static constexpr size_t kBatch = 8;
  struct Row {
    Truth truth;
    bool visible = false;
    bool ended = false;
    bool rolls_back = false;
    int64_t commit_at = 0;
    int attempts = 0;
    int64_t retry_at = 0;
  };

  uint64_t dice(uint64_t sides) {
    dice_ = dice_ * 6364136223846793005u + 1442695040888963407u;
    return (dice_ >> 33) % sides;
  }
  bool percent(uint64_t p) { return dice(100) < p; }
  bool fault(const char* what, uint64_t p) {
    if (!faults_ || !percent(p)) return false;
    history_.faults.push_back({what, now_});
    return true;
  }
  bool is(Mistake m) const { return mistake_ == m; }

  void tick() {
    if (faults_ && percent(40)) write();
    commit();
    wake_zombies();
    if (down_until_ <= now_) relay();
    consume();
  }

  // --- the writers
  // ---------------------------------------------------------------------------------

  void write() {
    const std::string tx = "t" + std::to_string(++transactions_);
    const size_t events = 1 + dice(2);
    const bool rolls_back = percent(12);
    const int64_t commit_at = now_ + 1 + static_cast<int64_t>(dice(9));
    for (size_t i = 0; i < events; ++i) {
      const size_t key = dice(kKeys);
      if (!locked_.insert(key).second) continue;  // another transaction holds its row
      Row row;
      row.truth.tx = tx;
      row.truth.event = tx + "-" + std::to_string(i);
      row.truth.key = "k" + std::to_string(key);
      row.truth.seq = next_seq_[key];
      row.truth.hash = payload_hash(row.truth.event);
      row.truth.status = "due";
      row.truth.poison = percent(2);
      row.rolls_back = rolls_back;
      row.commit_at = commit_at;
      if (!rolls_back) ++next_seq_[key];
      Intent intent;
      intent.tx = tx;
      intent.event = row.truth.event;
      intent.key = row.truth.key;
      intent.hash = row.truth.hash;
      intent.outcome = rolls_back ? Intent::Outcome::fail : Intent::Outcome::ok;
      history_.intents.push_back(intent);
      if (is(Mistake::publish_before_commit)) deliver(row);
      if (is(Mistake::half_a_transaction) && i == 1) row.rolls_back = true;
      rows_.push_back(row);
    }
  }

  void commit() {
    for (size_t id = first_open_; id < rows_.size(); ++id) {
      Row& row = rows_[id];
      if (row.ended || row.commit_at > now_) continue;
      row.ended = true;
      row.visible = !row.rolls_back;
      locked_.erase(static_cast<size_t>(row.truth.key[1] - '0'));
    }
  }

  // --- the relay
  // -----------------------------------------------------------------------------------

  std::vector<size_t> read() {
    std::vector<size_t> out;
    std::set<std::string> waiting;
    const auto closed = [](const Row& row) {
      return row.ended && (!row.visible || row.truth.status != "due");
    };
    while (first_open_ < rows_.size() && closed(rows_[first_open_])) ++first_open_;
    for (size_t id = first_open_; id < rows_.size() && out.size() < kBatch; ++id) {
      Row& row = rows_[id];
      if (!row.visible || row.truth.status != "due") continue;
      if (is(Mistake::cursor_by_id) && id < cursor_ && row.attempts == 0) continue;
      if (waiting.contains(row.truth.key)) continue;
      if (row.retry_at > now_) {
        if (!is(Mistake::unordered_retry)) waiting.insert(row.truth.key);
        continue;
      }
      out.push_back(id);
    }
    if (!out.empty()) cursor_ = std::max(cursor_, out.back() + 1);
    return out;
  }

  void crash() { down_until_ = is(Mistake::gives_up_after_an_outage) ? 1'000'000 : now_ + 4; }

  void relay() {
    const std::vector<size_t> batch = read();
    if (is(Mistake::mark_before_publish))
      for (const size_t id : batch) rows_[id].truth.status = "sent";
    std::set<std::string> failed;
    std::vector<size_t> done;
    for (size_t i = 0; i < batch.size(); ++i) {
      Row& row = rows_[batch[i]];
      if (failed.contains(row.truth.key)) continue;
      if (fault("kill before publish", 1)) return crash();
      if (fault("pause beyond the lease", 1)) {
        // Another relay goes on from the table; what this one thinks of the row comes late.
        zombies_.emplace_back(batch[i], now_ + 30);
        return crash();
      }
      if (fault("SIGTERM", 1)) {
        if (is(Mistake::lost_last_batch_on_sigterm)) done.assign(batch.begin(), batch.end());
        mark(done);
        return crash();
      }
      if (row.truth.poison) {
        row.truth.status = "dead";
        continue;
      }
      if (fault("nack", 8)) {
        refused(row);
        if (!is(Mistake::unordered_retry)) failed.insert(row.truth.key);
        continue;
      }
      deliver(row);
      if (fault("kill after publish", 1)) return crash();
      done.push_back(batch[i]);
    }
    mark(done);
  }

  void mark(const std::vector<size_t>& ids) {
    for (const size_t id : ids)
      if (rows_[id].truth.status == "due") rows_[id].truth.status = "sent";
  }

  void refused(Row& row) {
    ++row.attempts;
    row.retry_at = now_ + 6;
    if (is(Mistake::skip_on_nack)) row.truth.status = "sent";
    if (is(Mistake::dead_letter_dropped) && row.attempts >= 2) row.truth.status = "";
  }

  void wake_zombies() {
    for (const auto& [id, at] : zombies_)
      if (at == now_ && is(Mistake::no_fencing)) rows_[id].truth.status = "dead";
  }

  void deliver(const Row& row) {
    Delivered out;
    out.event = row.truth.event;
    if (is(Mistake::retry_with_new_id) && row.attempts > 0) out.event += "-again";
    out.key = row.truth.key;
    out.seq = row.truth.seq;
    out.hash = row.truth.hash;
    if (is(Mistake::payload_truncated) && percent(5)) out.hash = payload_hash("t");
    out.destination = "sink";
    out.at_ns = now_;
    history_.delivered.push_back(out);
    queue_.push_back(out.event);
  }

  // --- the consumer
  // --------------------------------------------------------------------------------

  void consume() {
    for (size_t i = 0; i < 4 && !queue_.empty(); ++i) {
      const std::string event = queue_.front();
      if (is(Mistake::ack_before_commit)) {
        queue_.pop_front();
        if (fault("kill before the consumer's commit", 4)) continue;
      } else if (fault("kill before the consumer's commit", 4)) {
        continue;  // comes again
      }
      if (is(Mistake::dedup_key_without_consumer) && percent(20)) inbox_.insert(event);
      if (is(Mistake::inbox_outside_the_transaction)) {
        if (!inbox_.contains(event)) history_.effects.push_back({event});
        if (fault("kill between effect and key", 4)) continue;
        inbox_.insert(event);
      } else if (inbox_.insert(event).second) {
        history_.effects.push_back({event});
      }
      if (is(Mistake::ack_before_commit)) continue;
      if (fault("kill before the consumer's ack", 4)) continue;
      queue_.pop_front();
    }
  }

  static constexpr size_t kKeys = 6;
  Mistake mistake_;
  uint64_t dice_;
  bool faults_ = true;
  int64_t now_ = 0;
  int64_t down_until_ = 0;
  size_t transactions_ = 0;
  size_t cursor_ = 0;
  size_t first_open_ = 0;  // everything before has its end
  std::vector<Row> rows_;
  std::set<size_t> locked_;
  std::vector<int64_t> next_seq_ = std::vector<int64_t>(kKeys, 1);
  std::vector<std::pair<size_t, int64_t>> zombies_;
  std::deque<std::string> queue_;
  std::set<std::string> inbox_;
  History history_;
};

}  // namespace drom::chaos
