// A model of the outbox table and its leases for simulations: the visibility rules of a real
// database, on a clock of its own that may jump, with bugs to be planted. It passes the same
// conformance suite as the real stores (connectors/outbox/relay_store_conformance_test.cpp).
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "machines/outbox_relay.hpp"

namespace drom::sim {

struct Dice {
  uint64_t state;
  uint64_t next() {
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
};

// Mistakes that a relay or its store could make; the checker must see each of them.
enum class Bug : uint8_t {
  none,
  no_fencing,
  cursor_by_id,
  unordered_retry,
  mark_before_publish,
  drop_on_nack,
  lost_last_batch,
  purge_unsent,
  total_by_key,   // in total order a failed row holds up its key only
  expiry_unread,  // an expired row is sent
  wild_clocks,    // of relays: so slow that a lease overlaps with the next one
};

enum class Status : uint8_t { due, sent, dead, parked };

struct StoredRow {
  std::string key;
  int bucket = 0;
  bool visible = false;
  Status status = Status::due;
  int attempts = 0;
  std::optional<SteadyTime> next_attempt;
  std::optional<SteadyTime> available;
  std::optional<SteadyTime> expires;
  std::optional<SteadyTime> sent;
  std::string error;
};

struct StoredLease {
  std::string owner;
  int64_t token = 0;
  SteadyTime expires{};
};

// All times are the database's.
struct Store {
  Bug bug = Bug::none;
  std::map<int64_t, StoredRow> rows;
  std::array<StoredLease, kLeaseBuckets> leases;
  std::map<std::string, SteadyTime> relays;
  std::map<std::string, int64_t> cursors;  // Bug::cursor_by_id
  milliseconds lease{10'000};
  Ordering ordering = Ordering::key;
  milliseconds retention{0};

  LeaseAnswer ask(const std::string& owner, const LeaseRequest& request, SteadyTime now) {
    LeaseAnswer out;
    out.ok = true;
    for (const int b : request.release) {
      StoredLease& l = leases[static_cast<size_t>(b)];
      if (l.owner == owner) l = {"", l.token, now};
    }
    relays[owner] = now + lease;
    int64_t top = 0;
    for (const StoredLease& l : leases) top = std::max(top, l.token);
    int claim = request.claim;
    for (int b = 0; b < kLeaseBuckets; ++b) {
      StoredLease& l = leases[static_cast<size_t>(b)];
      if (l.owner == owner) {
        l.expires = now + lease;
      } else if (claim > 0 && l.expires <= now) {
        l = {owner, std::max(l.token, top) + 1, now + lease};
        --claim;
      }
      if (l.owner == owner) out.held.push_back({b, l.token});
    }
    out.relays = 0;
    for (const auto& [name, expires] : relays)
      if (expires > now) ++out.relays;
    return out;
  }

  void leave(const std::string& owner, SteadyTime now) {
    relays.erase(owner);
    for (StoredLease& l : leases)
      if (l.owner == owner) l = {"", l.token, now};
  }

  bool stale(const std::string& owner, int bucket, int64_t token) const {
    const StoredLease& l = leases[static_cast<size_t>(bucket)];
    return l.owner != owner || l.token != token;
  }

  relay::DataAnswer run(const std::string& owner, const DataTrip& trip, SteadyTime now) {
    relay::DataAnswer out;
    out.ok = true;
    for (const SentMark& mark : trip.sent) {
      StoredRow* row = markable(owner, mark.id, mark.token);
      if (!row) {
        ++out.refused;
        continue;
      }
      row->status = Status::sent;
      row->sent = now;
      row->next_attempt.reset();
    }
    for (const FailedMark& mark : trip.failed) {
      StoredRow* row = markable(owner, mark.id, mark.token);
      if (!row) {
        ++out.refused;
        continue;
      }
      row->attempts = mark.attempts;
      row->error = mark.error;
      row->next_attempt.reset();
      if (mark.to == FailedMark::To::retry) row->next_attempt = now + mark.delay;
      if (mark.to == FailedMark::To::dead) row->status = Status::dead;
      if (mark.to == FailedMark::To::parked) {
        row->status = Status::parked;
        row->next_attempt = SteadyTime::max();
      }
    }
    if (trip.purge > 0) out.purged = purge(trip.purge, now);
    if (trip.read) read(owner, *trip.read, now, out);
    return out;
  }

 private:
  StoredRow* markable(const std::string& owner, int64_t id, int64_t token) {
    const auto at = rows.find(id);
    if (at == rows.end() || at->second.status != Status::due) return nullptr;
    const bool fenced = bug != Bug::no_fencing && stale(owner, at->second.bucket, token);
    return fenced ? nullptr : &at->second;
  }

  // A bounded look at the front: the oldest rows come first.
  size_t purge(size_t max, SteadyTime now) {
    std::vector<int64_t> old;
    size_t seen = 0;
    for (const auto& [id, row] : rows) {
      if (!row.visible || (row.status != Status::sent && bug != Bug::purge_unsent)) continue;
      if (!row.sent || *row.sent < now - retention) old.push_back(id);
      if (++seen == max) break;
    }
    for (const int64_t id : old) rows.erase(id);
    return old.size();
  }

  // Of the rows before this one, is there one in backoff or parked that it has to wait for?
  bool waits(const StoredRow& row, const std::set<std::string>& held_back) const {
    switch (ordering) {
      case Ordering::none: return false;
      case Ordering::key: return !row.key.empty() && held_back.contains(row.key);
      case Ordering::total:
        return bug == Bug::total_by_key ? held_back.contains(row.key) : !held_back.empty();
    }
    return false;
  }

  void read(const std::string& owner, const ReadRequest& read, SteadyTime now,
            relay::DataAnswer& out) {
    std::set<std::string> waiting;  // keys of the rows held back so far
    for (const auto& [id, r] : rows) {
      if (!r.visible) continue;
      const bool held_back = r.next_attempt && *r.next_attempt > now;
      if (held_back && bug != Bug::unordered_retry) waiting.insert(r.key);
      const bool skip = r.status != Status::due || held_back ||
                        (r.available && *r.available > now) || waits(r, waiting) ||
                        std::ranges::count(read.busy_keys, r.key) ||
                        std::ranges::count(read.busy_ids, id) ||
                        (!read.all_buckets && !std::ranges::count(read.buckets, r.bucket));
      if (skip) continue;
      if (bug == Bug::cursor_by_id) {
        if (id <= cursors[owner]) continue;
        cursors[owner] = id;
      }
      RelayRow row;
      row.id = id;
      row.bucket = r.bucket;
      row.key = r.key;
      row.attempts = r.attempts;
      if (r.expires && bug != Bug::expiry_unread)
        row.expires_in = std::chrono::ceil<milliseconds>(*r.expires - now);
      out.rows.push_back(std::move(row));
      if (out.rows.size() == read.max) break;
    }
  }
};

}  // namespace drom::sim
