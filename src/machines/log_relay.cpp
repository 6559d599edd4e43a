#include "machines/log_relay.hpp"

#include <algorithm>

#include "drom/base/assert.hpp"

namespace drom {
namespace {

constexpr Backoff kDatabaseRetry{milliseconds(100), 2, milliseconds(5000), 0};
constexpr milliseconds kClaimRetry{1000};

bool never_works(ErrorKind kind) { return kind == ErrorKind::data || kind == ErrorKind::rejected; }

void append(std::vector<Hold>& to, std::vector<Hold> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

LogEffects LogRelay::step(LogEvent event, SteadyTime now) {
  LogEffects out;
  const auto* asked = std::get_if<logs::Take>(&event);
  if (asked) take(asked->max, now, out);
  std::visit([&](auto& e) { on(std::move(e), now); }, event);
  advance(now);
  plan(now, out);
  out.ready = !ready_.empty() && may_hand_out(now);
  out.room = room();
  out.wake_at = next_wake(now);
  return out;
}

LogRelay::Entry* LogRelay::entry(uint64_t seq) {
  if (seq < first_seq_ || seq - first_seq_ >= entries_.size()) return nullptr;
  return &entries_[seq - first_seq_];
}

void LogRelay::on(logs::Woken, SteadyTime now) {
  news_ = true;
  idle_ = policy_.poll_min;
  next_read_at_ = now;
}

bool LogRelay::may_hand_out(SteadyTime now) const {
  if (stopping_ || !leads(now) || now < pause_until_) return false;
  return !probing_ || out_ == 0;
}

void LogRelay::take(size_t max, SteadyTime now, LogEffects& out) {
  if (!may_hand_out(now)) return;
  if (probing_) max = 1;
  // A hot key may not fill the whole window, else all other keys wait for it.
  const size_t key_max = std::max<size_t>(1, max / 4);
  const auto hand_out = [&](uint64_t seq) {
    Entry& e = *entry(seq);
    e.state = State::out;
    ++out_;
    out.rows.push_back({seq, e.row});  // a copy: it may be given back
  };
  while (!ready_.empty() && out.rows.size() < max) {
    const auto [first, key] = *ready_.begin();
    ready_.erase(ready_.begin());
    if (!key) {
      if (!hold_expired(*entry(first), now)) hand_out(first);
      continue;
    }
    Key& k = key->second;
    for (size_t n = 0; n < key_max && !k.waiting.empty() && out.rows.size() < max;) {
      const uint64_t seq = k.waiting.front();
      k.waiting.pop_front();
      if (hold_expired(*entry(seq), now)) continue;
      hand_out(seq);
      ++k.out;
      ++n;
    }
  }
  std::ranges::sort(out.rows, {}, &LogHandOut::seq);
}

void LogRelay::on(logs::Rows rows, SteadyTime now) {
  for (LogRow& row : rows.rows) arrive(std::move(row), now);
  if (!rows.end) return;
  Entry barrier;
  barrier.state = State::barrier;
  barrier.row.position = *rows.end;
  entries_.push_back(std::move(barrier));
}

void LogRelay::arrive(LogRow row, SteadyTime now) {
  if (row.expires_in) row.expires_at = now + *row.expires_in;
  const uint64_t seq = first_seq_ + entries_.size();
  entries_.emplace_back();
  Entry& e = entries_.back();
  e.row = std::move(row);
  Hold how;
  if (e.row.key.empty()) {
    if (e.row.later || hold_all_) {
      hold(e, std::move(how));
    } else if (!stopping_) {
      ready_.emplace(seq, nullptr);
    }
    return;
  }
  const auto at = keys_.try_emplace(e.row.key).first;
  Key& key = at->second;
  if (hold_all_ && !key.held) hold_key(at->first);
  if (e.row.later || key.held) {
    hold(e, std::move(how));
  } else if (!stopping_) {
    key.waiting.push_back(seq);
    if (key.out == 0 && key.waiting.size() == 1) ready_.emplace(seq, &*at);
  }
}

// The row's place is the claim table; the checkpoint that passes it takes it there.
void LogRelay::hold(Entry& e, Hold how) {
  e.state = State::hold;
  e.hold = std::move(how);
  e.hold.id = e.row.id;
  e.hold.key = e.row.key;
  if (e.row.id == 0) e.hold.columns = std::move(e.row.columns);
  e.row.columns.clear();
  if (!e.row.key.empty()) ++keys_[e.row.key].pending;
}

// The relay behind makes it dead; nothing waits for it.
bool LogRelay::hold_expired(Entry& e, SteadyTime now) {
  if (e.row.expires_at > now) return false;
  hold(e, Hold());
  return true;
}

// From now on the key's rows go behind the failed one.
void LogRelay::hold_key(const std::string& name) {
  Key& key = keys_[name];
  if (!key.held) held_.push_back(name);
  key.held = true;
  if (!key.waiting.empty()) ready_.erase(key.waiting.front());
  for (const uint64_t seq : key.waiting) hold(*entry(seq), Hold());
  key.waiting.clear();
}

void LogRelay::on(relay::SettledAll settled, SteadyTime now) {
  for (relay::Settled& row : settled.rows) settle(std::move(row), now);
}

void LogRelay::settle(relay::Settled settled, SteadyTime now) {
  const auto seq = static_cast<uint64_t>(settled.id);
  Entry* const e = entry(seq);
  if (!e || e->state != State::out) return;
  --out_;
  const std::string name = e->row.key;
  if (!name.empty()) --keys_[name].out;
  switch (settled.fate) {
    case relay::Fate::done:
      e->state = State::done;
      e->row.columns = List();
      if (now >= pause_until_) {
        pauses_ = 0;
        probing_ = false;
      }
      break;
    case relay::Fate::released: {
      put_back(seq, *e);
      // Given back without a reason that we know: do not offer it again in a tight loop.
      if (e->state == State::waiting && !stopping_) pause(policy_.poll_min, now);
      break;
    }
    case relay::Fate::failed: fail(seq, *e, std::move(settled), now); break;
  }
  if (name.empty()) return;
  const auto key = keys_.find(name);
  if (key->second.out == 0) release_key(key);
}

// Nothing of the key is under way: its next row may go, or the key be forgotten.
void LogRelay::release_key(Keys::iterator at) {
  Key& key = at->second;
  if (key.out > 0) return;
  if (!key.waiting.empty()) {
    ready_.emplace(key.waiting.front(), &*at);
  } else if (!key.held && key.pending == 0) {
    keys_.erase(at);
  }
}

void LogRelay::put_back(uint64_t seq, Entry& e) {
  if (!e.row.key.empty() && keys_[e.row.key].held) {
    hold(e, Hold());
    return;
  }
  e.state = State::waiting;
  if (stopping_) return;
  if (e.row.key.empty()) {
    ready_.emplace(seq, nullptr);
    return;
  }
  // Not ready before the whole group has come back.
  std::deque<uint64_t>& waiting = keys_[e.row.key].waiting;
  waiting.insert(std::ranges::lower_bound(waiting, seq), seq);
}

void LogRelay::fail(uint64_t seq, Entry& e, relay::Settled settled, SteadyTime now) {
  if (settled.kind == ErrorKind::not_connected) {
    // The target is away, the row is not to blame: it stays here, everything waits.
    put_back(seq, e);
    if (now < pause_until_) return;
    milliseconds wait = policy_.pause.delay(++pauses_, settled.dice);
    if (settled.retry_after) wait = std::max(wait, *settled.retry_after);
    pause(wait, now);
    probing_ = true;
    return;
  }
  Hold how;
  how.attempts = 1;
  how.error = std::move(settled.error);
  const bool spent = policy_.attempts_max == 1;
  if ((spent || never_works(settled.kind)) && policy_.on_exhausted != OnExhausted::block) {
    how.to =
        policy_.on_exhausted == OnExhausted::park ? FailedMark::To::parked : FailedMark::To::dead;
  } else {
    how.delay = policy_.retry.delay(1, settled.dice);
    if (settled.retry_after) how.delay = std::max(how.delay, *settled.retry_after);
  }
  const bool blocks = how.to != FailedMark::To::dead;
  hold(e, std::move(how));
  if (blocks && !e.row.key.empty()) hold_key(e.row.key);
  if (now >= pause_until_) probing_ = false;
}

void LogRelay::pause(milliseconds duration, SteadyTime now) {
  pause_until_ = std::max(pause_until_, now + duration);
}

// Moves the end of the contiguous prefix.
void LogRelay::advance(SteadyTime now) {
  while (!entries_.empty()) {
    Entry& e = entries_.front();
    if (e.state == State::waiting || e.state == State::out) return;
    if (!has_due()) due_since_ = now;
    if (e.row.position.is_set()) due_.position = e.row.position;
    if (e.state == State::hold) due_.holds.push_back(std::move(e.hold));
    if (e.state != State::barrier) {
      if (due_rows_ == 0) due_since_ = now;
      ++due_rows_;
    }
    entries_.pop_front();
    ++first_seq_;
  }
}

// The database has taken the checkpoint under way.
void LogRelay::taken(SteadyTime) {
  for (const Hold& hold : under_way_.holds) {
    if (hold.key.empty()) continue;
    const auto key = keys_.find(hold.key);
    if (key == keys_.end()) continue;
    --key->second.pending;
    DROM_ASSERT(key->second.pending >= 0);
    if (key->second.waiting.empty()) release_key(key);
  }
  under_way_ = LogTrip();
  under_way_rows_ = 0;
  unsure_ = false;
}

void LogRelay::on(logs::LeaseAnswer answer, SteadyTime now) {
  DROM_ASSERT(trip_ == Trip::lease || trip_ == Trip::release);
  const bool leaving = trip_ == Trip::release;
  trip_ = Trip::none;
  if (!answer.ok) {
    database_failed(now);
    return;
  }
  database_failures_ = 0;
  if (leaving) {
    released_ = true;
    return;
  }
  const milliseconds third = policy_.lease / 3;
  lease_due_ = now + (answer.token ? third : std::min(third, kClaimRetry));
  if (answer.token != token_) {
    // Somebody else has read the log in between, or does so now.
    forget_all();
    token_ = answer.token;
    loaded_ = false;
  }
  if (!token_) return;
  lease_until_ = answer.asked + relied_on(policy_.lease);
  if (!loading_) return;
  if (unsure_) {
    if (answer.serial == under_way_.serial) {
      taken(now);
    } else {
      if (!due_.position.is_set()) due_.position = under_way_.position;
      append(under_way_.holds, std::move(due_.holds));
      due_.holds = std::move(under_way_.holds);
      due_rows_ += under_way_rows_;
      under_way_ = LogTrip();
      under_way_rows_ = 0;
      unsure_ = false;
    }
  }
  serial_ = answer.serial;
  if (!loaded_) next_read_at_ = now;
  loaded_ = true;
  take_held(std::move(answer.held_keys), answer.hold_all);
}

// The keys that have unsent rows in the claim table; those of holds that are still here stay held.
void LogRelay::take_held(std::vector<std::string> names, bool all) {
  hold_all_ = all;
  std::vector<std::string> before(held_.begin(), held_.end());
  held_.clear();
  for (const std::string& name : before) {
    const auto key = keys_.find(name);
    if (key == keys_.end()) continue;
    if (key->second.pending > 0) {
      held_.push_back(name);
      continue;
    }
    key->second.held = false;
    release_key(key);
  }
  for (const std::string& name : names)
    if (!name.empty()) hold_key(name);
  if (!all) return;
  for (auto& [name, key] : keys_)
    if (!key.waiting.empty()) hold_key(name);
}

void LogRelay::on(logs::TripAnswer answer, SteadyTime now) {
  DROM_ASSERT(trip_ == Trip::data);
  trip_ = Trip::none;
  if (answer.fenced) {
    lease_due_ = now;
    unsure_ = under_way_.serial != 0;
    loaded_ = false;
    return;
  }
  if (!answer.ok) {
    if (under_way_.serial != 0) {
      unsure_ = true;
      loaded_ = false;
      lease_due_ = now;
    }
    database_failed(now);
    return;
  }
  database_failures_ = 0;
  const bool read = under_way_.read > 0;
  const bool reload = under_way_.reload;
  if (under_way_.serial != 0) {
    serial_ = under_way_.serial;
    taken(now);
  } else {
    under_way_ = LogTrip();
  }
  if (reload) take_held(std::move(answer.held_keys), answer.hold_all);
  for (const std::string& name : answer.free_keys) {
    const auto key = keys_.find(name);
    if (key == keys_.end() || key->second.pending > 0 || !key->second.held) continue;
    key->second.held = false;
    release_key(key);
  }
  if (!read || stopping_) return;
  const bool found = !answer.read.rows.empty();
  on(std::move(answer.read), now);
  if (found || answer.more || news_) {
    idle_ = policy_.poll_min;
    next_read_at_ = now;
  } else {
    next_read_at_ = now + idle_;
    idle_ = std::min(idle_ * 2, policy_.poll_max);
  }
  news_ = false;
}

void LogRelay::forget_all() {
  first_seq_ += entries_.size();
  entries_.clear();
  keys_.clear();
  ready_.clear();
  held_.clear();
  out_ = 0;
  due_ = under_way_ = LogTrip();
  due_rows_ = under_way_rows_ = 0;
  unsure_ = hold_all_ = false;
}

void LogRelay::on(logs::Pull pull, SteadyTime now) {
  if (pull.on && !pulls_) next_read_at_ = now;
  pulls_ = pull.on;
}

void LogRelay::on(logs::Stop, SteadyTime) {
  stopping_ = true;
  ready_.clear();
  for (auto& [name, key] : keys_) key.waiting.clear();
}

void LogRelay::on(logs::Abandon, SteadyTime) {
  for (Entry& e : entries_)
    if (e.state == State::out) e.state = State::waiting;
  for (auto& [name, key] : keys_) key.out = 0;
  out_ = 0;
}

void LogRelay::database_failed(SteadyTime now) {
  database_retry_at_ = now + kDatabaseRetry.delay(++database_failures_, 0);
}

size_t LogRelay::room() const {
  if (stopping_ || token_ == 0 || !loaded_) return 0;
  const size_t used = entries_.size() + due_.holds.size() + under_way_.holds.size();
  return used < policy_.room ? policy_.room - used : 0;
}

SteadyTime LogRelay::checkpoint_at() const {
  if (!has_due()) return SteadyTime::max();
  if (due_rows_ == 0) return stopping_ ? due_since_ : due_since_ + policy_.lazy_delay;
  const bool no_company = out_ == 0 && ready_.empty();
  if (no_company || due_rows_ >= policy_.checkpoint_max || stopping_) return due_since_;
  return due_since_ + policy_.checkpoint_delay;
}

SteadyTime LogRelay::ask_at() const {
  if (stopping_ || (held_.empty() && !hold_all_)) return SteadyTime::max();
  return ask_due_;
}

SteadyTime LogRelay::read_at() const {
  if (!pulls_ || room() < std::min(policy_.read_max, policy_.room / 2)) return SteadyTime::max();
  return next_read_at_;
}

void LogRelay::plan(SteadyTime now, LogEffects& out) {
  if (released_) out.finished = true;
  if (trip_ != Trip::none || released_ || now < database_retry_at_) return;
  if (stopping_ && out_ == 0 && ((!has_due() && !unsure_) || token_ == 0)) {
    trip_ = Trip::release;
    out.trip = LogRelease();
    return;
  }
  if (now >= lease_due_ || (token_ && !loaded_)) {
    LogLease lease;
    lease.load = loading_ = !loaded_;
    trip_ = Trip::lease;
    out.trip = lease;
    return;
  }
  if (!leads(now)) return;
  const bool checkpoint = now >= checkpoint_at();
  const bool ask = now >= ask_at();
  const bool read = now >= read_at();
  if (!checkpoint && !ask && !read) return;
  LogTrip trip;
  trip.token = token_;
  if (checkpoint) {
    trip.position = due_.position;
    trip.holds = std::move(due_.holds);
    trip.serial = serial_ + 1;
    due_ = LogTrip();
    under_way_rows_ = due_rows_;
    due_rows_ = 0;
  }
  if (ask) {
    ask_due_ = now + policy_.ask_every;
    trip.reload = hold_all_;
    for (size_t i = std::min(policy_.ask_max, held_.size()); i > 0 && !hold_all_; --i) {
      std::string name = std::move(held_.front());
      held_.pop_front();
      const auto key = keys_.find(name);
      if (key == keys_.end() || !key->second.held) continue;  // freed in the meantime
      trip.ask.push_back(name);
      held_.push_back(std::move(name));
    }
    if (!checkpoint && !read && trip.ask.empty() && !trip.reload) return;
  }
  if (read) trip.read = std::min(policy_.read_max, room());
  under_way_ = trip;
  trip_ = Trip::data;
  out.trip = std::move(trip);
}

SteadyTime LogRelay::next_wake(SteadyTime now) const {
  SteadyTime at = SteadyTime::max();
  if (!ready_.empty() && now < pause_until_) at = pause_until_;
  if (trip_ != Trip::none || released_) return at;
  SteadyTime work = lease_due_;
  if (token_ && !loaded_) work = now;
  if (leads(now)) work = std::min({work, checkpoint_at(), ask_at(), read_at()});
  return std::min(at, std::max(work, database_retry_at_));
}

}  // namespace drom
