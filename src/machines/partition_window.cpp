#include "machines/partition_window.hpp"

#include <algorithm>
#include <map>

#include "drom/base/assert.hpp"

namespace drom {
namespace {

// A handle is the partition and the sequence number of the record in it.
constexpr int kSequenceBits = 42;
constexpr uint64_t kSequenceMask = (uint64_t{1} << kSequenceBits) - 1;

uint64_t make_handle(PartitionWindow::Partition partition, uint64_t sequence) {
  return uint64_t{partition} << kSequenceBits | sequence;
}
PartitionWindow::Partition partition_of(uint64_t handle) {
  return static_cast<PartitionWindow::Partition>(handle >> kSequenceBits);
}

}  // namespace

void PartitionWindow::assign(Partition partition) {
  if (partition >= slots_.size()) slots_.resize(partition + 1);
  revoke(partition);
  slots_[partition].assigned = true;
}

void PartitionWindow::revoke(Partition partition) {
  if (partition >= slots_.size()) return;
  Slot& slot = slots_[partition];
  for (const Entry& entry : slot.entries) {
    if (entry.state != State::done) --held_;
    if (entry.state == State::out) --out_;
  }
  slot.base += slot.entries.size();
  slot.scan = slot.base;
  slot.entries.clear();
  slot.failing.clear();
  slot.assigned = slot.retired = false;
  slot.out = 0;
  slot.received = slot.end = slot.prefix = slot.sent = slot.acked = -1;
  ++slot.epoch;
}

void PartitionWindow::retire(Partition partition) {
  if (assigned(partition)) slots_[partition].retired = true;
}

bool PartitionWindow::assigned(Partition partition) const {
  return partition < slots_.size() && slots_[partition].assigned;
}

bool PartitionWindow::receive(Partition partition, int64_t offset, Payload payload) {
  if (!assigned(partition)) return false;
  Slot& slot = slots_[partition];
  if (slot.retired || offset <= slot.received) return false;
  slot.received = offset;
  slot.entries.push_back(Entry{offset, std::move(payload)});
  ++held_;
  activate(partition, slot);
  return true;
}

void PartitionWindow::reached_end(Partition partition, int64_t offset) {
  if (!assigned(partition)) return;
  Slot& slot = slots_[partition];
  slot.end = std::max(slot.end, offset);
  shrink(slot);
}

void PartitionWindow::activate(Partition partition, Slot& slot) {
  if (slot.active) return;
  slot.active = true;
  active_.push_back(partition);
}

uint64_t PartitionWindow::limit(const Slot& slot) const {
  if (slot.retired) return slot.base;
  if (policy_.stop_at_failure && !slot.failing.empty()) return *slot.failing.begin() + 1;
  return slot.base + slot.entries.size();
}

bool PartitionWindow::may_take(const Slot&, const Entry& entry, SteadyTime now) const {
  return entry.state == State::waiting && entry.retry_at <= now;
}

void PartitionWindow::take_from(Partition partition, Slot& slot, size_t max, SteadyTime now,
                                std::vector<Taken>& out) {
  const uint64_t end = limit(slot);
  uint64_t first_left = slot.base + slot.entries.size();
  for (uint64_t at = std::max(slot.scan, slot.base); at < first_left; ++at) {
    Entry& entry = slot.entries[at - slot.base];
    if (entry.state != State::waiting) continue;
    if (at >= end || max == 0 || !may_take(slot, entry, now)) {
      first_left = std::min(first_left, at);
      if (at >= end || max == 0 || policy_.stop_at_failure) break;
      // Later records pass the failed one; it is looked at again from here.
      for (uint64_t later = at + 1; later < end && max > 0; ++later) {
        Entry& next = slot.entries[later - slot.base];
        if (!may_take(slot, next, now)) continue;
        next.state = State::out;
        ++out_;
        ++slot.out;
        --max;
        out.push_back({make_handle(partition, later), partition, next.offset, next.payload.get(),
                       next.attempts});
      }
      break;
    }
    entry.state = State::out;
    ++out_;
    ++slot.out;
    --max;
    out.push_back(
        {make_handle(partition, at), partition, entry.offset, entry.payload.get(), entry.attempts});
  }
  slot.scan = first_left;
}

void PartitionWindow::take(size_t max, SteadyTime now, std::vector<Taken>& out) {
  const size_t before = out.size();
  for (size_t turns = active_.size(); turns > 0 && out.size() - before < max; --turns) {
    const Partition partition = active_.front();
    active_.pop_front();
    Slot& slot = slots_[partition];
    slot.active = false;
    take_from(partition, slot, max - (out.size() - before), now, out);
    if (slot.scan < slot.base + slot.entries.size()) activate(partition, slot);
  }
}

PartitionWindow::Slot* PartitionWindow::slot_of(uint64_t handle) {
  return find(handle) ? &slots_[partition_of(handle)] : nullptr;
}

const PartitionWindow::Entry* PartitionWindow::find(uint64_t handle) const {
  const Partition partition = partition_of(handle);
  if (partition >= slots_.size()) return nullptr;
  const Slot& slot = slots_[partition];
  const uint64_t sequence = handle & kSequenceMask;
  if (sequence < slot.base || sequence - slot.base >= slot.entries.size()) return nullptr;
  return &slot.entries[sequence - slot.base];
}

bool PartitionWindow::current(uint64_t handle) const { return find(handle) != nullptr; }

bool PartitionWindow::settle(uint64_t handle, Fate fate, SteadyTime now, uint64_t dice) {
  Slot* slot = slot_of(handle);
  if (!slot) return false;
  const uint64_t sequence = handle & kSequenceMask;
  Entry& entry = slot->entries[sequence - slot->base];
  if (entry.state != State::out) return false;  // settled twice
  --out_;
  --slot->out;
  if (fate == Fate::done) {
    entry.state = State::done;
    entry.payload.reset();
    --held_;
    slot->failing.erase(sequence);
    shrink(*slot);
  } else {
    entry.state = State::waiting;
    slot->scan = std::min(slot->scan, sequence);
    if (fate == Fate::failed) {
      entry.attempts = std::min(entry.attempts + 1, 1'000'000);
      entry.retry_at = now + policy_.retry.delay(entry.attempts, dice);
      slot->failing.insert(sequence);
    }
  }
  if (slot->scan < slot->base + slot->entries.size()) activate(partition_of(handle), *slot);
  return true;
}

void PartitionWindow::shrink(Slot& slot) {
  while (!slot.entries.empty() && slot.entries.front().state == State::done) {
    slot.prefix = std::max(slot.prefix, slot.entries.front().offset + 1);
    slot.entries.pop_front();
    ++slot.base;
  }
  slot.scan = std::max(slot.scan, slot.base);
  if (slot.entries.empty()) slot.prefix = std::max(slot.prefix, slot.end);
}

std::optional<std::vector<PartitionWindow::Commit>> PartitionWindow::commits_with(
    const std::vector<uint64_t>& handles) const {
  std::map<Partition, std::set<uint64_t>> ending;
  for (const uint64_t handle : handles) {
    if (!find(handle)) return std::nullopt;
    ending[partition_of(handle)].insert(handle & kSequenceMask);
  }
  std::vector<Commit> out;
  for (const auto& [partition, sequences] : ending) {
    const Slot& slot = slots_[partition];
    for (uint64_t at = slot.base; at <= *sequences.rbegin(); ++at) {
      const Entry& entry = slot.entries[at - slot.base];
      if (entry.state != State::done && !sequences.contains(at)) return std::nullopt;
    }
    const Entry& last = slot.entries[*sequences.rbegin() - slot.base];
    out.push_back({partition, last.offset + 1, slot.epoch});
  }
  return out;
}

std::vector<PartitionWindow::Commit> PartitionWindow::take_commits() {
  std::vector<Commit> out;
  for (Partition p = 0; p < slots_.size(); ++p) {
    Slot& slot = slots_[p];
    if (!slot.assigned || slot.prefix <= slot.sent) continue;
    slot.sent = slot.prefix;
    out.push_back({p, slot.prefix, slot.epoch});
  }
  return out;
}

bool PartitionWindow::has_commits() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [](const Slot& slot) { return slot.assigned && slot.prefix > slot.sent; });
}

void PartitionWindow::commit_ended(const Commit& commit, bool ok) {
  if (!assigned(commit.partition)) return;
  Slot& slot = slots_[commit.partition];
  if (slot.epoch != commit.epoch) return;
  if (ok) {
    slot.acked = std::max(slot.acked, commit.offset);
    slot.sent = std::max(slot.sent, commit.offset);
  } else {
    slot.sent = slot.acked;
  }
}

std::optional<int64_t> PartitionWindow::done_prefix(Partition partition) const {
  if (!assigned(partition)) return std::nullopt;
  const Slot& slot = slots_[partition];
  if (slot.prefix >= 0) return slot.prefix;
  if (slot.entries.empty()) return std::nullopt;
  return slot.entries.front().offset;
}

std::optional<int64_t> PartitionWindow::committed(Partition partition) const {
  if (!assigned(partition) || slots_[partition].acked < 0) return std::nullopt;
  return slots_[partition].acked;
}

bool PartitionWindow::ready(SteadyTime now) const {
  for (const Partition partition : active_) {
    const Slot& slot = slots_[partition];
    const uint64_t end = limit(slot);
    for (uint64_t at = std::max(slot.scan, slot.base); at < end; ++at) {
      if (may_take(slot, slot.entries[at - slot.base], now)) return true;
      if (policy_.stop_at_failure && slot.entries[at - slot.base].state == State::waiting) break;
    }
  }
  return false;
}

SteadyTime PartitionWindow::next_retry() const {
  SteadyTime out = SteadyTime::max();
  for (const Partition partition : active_) {
    const Slot& slot = slots_[partition];
    if (slot.retired) continue;
    for (const uint64_t sequence : slot.failing) {
      const Entry& entry = slot.entries[sequence - slot.base];
      if (entry.state == State::waiting) out = std::min(out, entry.retry_at);
      if (policy_.stop_at_failure) break;
    }
  }
  return out;
}

size_t PartitionWindow::out(Partition partition) const {
  return assigned(partition) ? slots_[partition].out : 0;
}

size_t PartitionWindow::span(Partition partition) const {
  return assigned(partition) ? slots_[partition].entries.size() : 0;
}

bool PartitionWindow::failing(Partition partition) const {
  return assigned(partition) && !slots_[partition].failing.empty();
}

size_t PartitionWindow::failing() const {
  size_t out = 0;
  for (const Slot& slot : slots_) out += slot.failing.size();
  return out;
}

}  // namespace drom
