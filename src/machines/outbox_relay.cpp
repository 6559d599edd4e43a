#include "machines/outbox_relay.hpp"

#include <algorithm>

#include "drom/base/assert.hpp"

namespace drom {
namespace {

constexpr Backoff kDatabaseRetry{milliseconds(100), 2, milliseconds(5000), 0};
constexpr milliseconds kPurgeEvery{60'000};
constexpr milliseconds kPurgeAgain{100};
constexpr std::string_view kOneKey = "*";  // of all rows, when all wait for one another

bool never_works(ErrorKind kind) { return kind == ErrorKind::data || kind == ErrorKind::rejected; }

}  // namespace

OutboxRelay::OutboxRelay(RelayPolicy policy)
    : policy_(policy),
      lease_(policy.lease, policy.ordering == Ordering::total),
      idle_(policy.poll_min) {}

RelayEffects OutboxRelay::step(RelayEvent event, SteadyTime now) {
  RelayEffects out;
  std::visit([&](auto& e) { on(std::move(e), now, out); }, event);
  plan(now, out);
  out.ready = may_hand_out(now) && any_free();
  out.wake_at = next_wake(now);
  return out;
}

void OutboxRelay::on(relay::Woken, SteadyTime now, RelayEffects&) {
  news_ = true;
  idle_ = policy_.poll_min;
  next_read_at_ = now;
}

bool OutboxRelay::may_hand_out(SteadyTime now) const {
  if (stopping_ || !lease_.valid(now) || !holds_enough() || now < pause_until_) return false;
  return !probing_ || in_flight_.empty();
}

// Who keeps all rows in order must know all of them.
bool OutboxRelay::holds_enough() const {
  return policy_.ordering != Ordering::total || lease_.held() == kLeaseBuckets;
}

void OutboxRelay::add_to_buffer(RelayRow row, SteadyTime now) {
  if (policy_.ordering == Ordering::none) row.key.clear();
  if (policy_.ordering == Ordering::total) row.key = kOneKey;
  if (row.expires_in) row.expires_at = now + *row.expires_in;
  buffer_.push_back(std::move(row));
}

void OutboxRelay::give_up_expired(RelayRow row, SteadyTime now) {
  const std::optional<int64_t> token = lease_.token(row.bucket);
  DROM_ASSERT(token);
  FailedMark mark;
  mark.id = row.id;
  mark.bucket = row.bucket;
  mark.token = *token;
  mark.to = FailedMark::To::dead;
  mark.attempts = row.attempts;
  mark.error = "expired before it was sent";
  mark.key = std::move(row.key);
  ++load_[static_cast<size_t>(row.bucket)];
  if (sent_.empty() && failed_.empty()) marks_since_ = now;
  failed_.push_back(std::move(mark));
}

// Whoever takes rows when there may be some must get one, else he asks in a tight loop.
bool OutboxRelay::any_free() const {
  return std::ranges::any_of(buffer_, [this](const RelayRow& row) {
    return row.key.empty() || !keys_in_flight_.contains(row.key);
  });
}

void OutboxRelay::on(relay::Take take, SteadyTime now, RelayEffects& out) {
  if (!may_hand_out(now)) return;
  const bool one = probing_ || policy_.ordering == Ordering::total;
  const size_t max = one ? 1 : take.max;
  // A hot key may not fill the whole window, else all other keys wait for it.
  const int key_max = static_cast<int>(std::max<size_t>(1, max / 4));
  std::unordered_map<std::string, int> taken;
  std::deque<RelayRow> kept;
  const bool had_rows = !buffer_.empty();
  while (!buffer_.empty() && out.rows.size() < max) {
    RelayRow row = std::move(buffer_.front());
    buffer_.pop_front();
    if (!row.key.empty()) {
      const auto mine = taken.find(row.key);
      const bool busy =
          mine == taken.end() ? keys_in_flight_.contains(row.key) : mine->second >= key_max;
      if (busy) {
        kept.push_back(std::move(row));
        continue;
      }
    }
    if (row.expires_at <= now) {
      give_up_expired(std::move(row), now);
      continue;
    }
    if (!row.key.empty()) {
      ++taken[row.key];
      ++keys_in_flight_[row.key];
    }
    const std::optional<int64_t> token = lease_.token(row.bucket);
    DROM_ASSERT(token);
    const auto [at, is_new] =
        in_flight_.emplace(row.id, InFlight{row.bucket, *token, row.attempts, row.key});
    DROM_ASSERT(is_new);
    ++load_[static_cast<size_t>(row.bucket)];
    out.rows.push_back(std::move(row));
  }
  while (!kept.empty()) {
    buffer_.push_front(std::move(kept.back()));
    kept.pop_back();
  }
  if (buffer_.empty() && had_rows) emptied_at_ = now;
}

void OutboxRelay::on(relay::SettledAll settled, SteadyTime now, RelayEffects&) {
  for (relay::Settled& row : settled.rows) settle(std::move(row), now);
}

void OutboxRelay::settle(relay::Settled settled, SteadyTime now) {
  const auto at = in_flight_.find(settled.id);
  if (at == in_flight_.end()) return;
  InFlight row = std::move(at->second);
  in_flight_.erase(at);
  if (!row.key.empty()) {
    const auto key = keys_in_flight_.find(row.key);
    if (--key->second == 0) keys_in_flight_.erase(key);
  }
  // Keys that the last read left out may have rows again.
  if (read_around_) next_read_at_ = std::min(next_read_at_, now + policy_.mark_delay);
  if (!lease_.owns(row.bucket, row.token)) {
    leave_bucket(row.bucket, now);
    return;
  }
  switch (settled.fate) {
    case relay::Fate::done:
      if (sent_.empty() && failed_.empty()) marks_since_ = now;
      sent_.push_back({settled.id, row.bucket, row.token});
      if (now >= pause_until_) {
        pauses_ = 0;
        probing_ = false;
      }
      return;
    case relay::Fate::released: {
      leave_bucket(row.bucket, now);
      drop_buffered(row.key);
      const bool after_failure = std::ranges::any_of(
          failed_, [&](const FailedMark& mark) { return !row.key.empty() && mark.key == row.key; });
      // Given back without a reason that we know: do not offer it again in a tight loop.
      if (!after_failure && !stopping_) pause(policy_.poll_min, now);
      return;
    }
    case relay::Fate::failed: fail(std::move(settled), std::move(row), now); return;
  }
}

void OutboxRelay::fail(relay::Settled settled, InFlight row, SteadyTime now) {
  drop_buffered(row.key);
  if (settled.kind == ErrorKind::not_connected) {
    // The target is away, the row is not to blame: no attempt is counted, everything waits.
    leave_bucket(row.bucket, now);
    if (now < pause_until_) return;
    milliseconds wait = policy_.pause.delay(++pauses_, settled.dice);
    if (settled.retry_after) wait = std::max(wait, *settled.retry_after);
    pause(wait, now);
    probing_ = true;
    return;
  }
  FailedMark mark;
  mark.id = settled.id;
  mark.bucket = row.bucket;
  mark.token = row.token;
  mark.attempts = row.attempts + 1;
  mark.error = std::move(settled.error);
  mark.key = std::move(row.key);
  const bool spent = policy_.attempts_max > 0 && mark.attempts >= policy_.attempts_max;
  if ((spent || never_works(settled.kind)) && policy_.on_exhausted != OnExhausted::block) {
    mark.to =
        policy_.on_exhausted == OnExhausted::park ? FailedMark::To::parked : FailedMark::To::dead;
  } else {
    mark.delay = policy_.retry.delay(mark.attempts, settled.dice);
    if (settled.retry_after) mark.delay = std::max(mark.delay, *settled.retry_after);
  }
  if (sent_.empty() && failed_.empty()) marks_since_ = now;
  failed_.push_back(std::move(mark));
  if (now >= pause_until_)
    probing_ = false;  // an answer, if not the one we like: the target is there
}

void OutboxRelay::pause(milliseconds duration, SteadyTime now) {
  pause_until_ = std::max(pause_until_, now + duration);
}

void OutboxRelay::leave_bucket(int bucket, SteadyTime now) {
  int& load = load_[static_cast<size_t>(bucket)];
  DROM_ASSERT(load > 0);
  if (--load == 0 && lease_.draining(bucket)) lease_.drained(now);
}

void OutboxRelay::drop_buffered(const std::string& key) {
  if (key.empty()) return;
  std::erase_if(buffer_, [&](const RelayRow& row) { return row.key == key; });
}

void OutboxRelay::on(LeaseAnswer answer, SteadyTime now, RelayEffects&) {
  DROM_ASSERT(trip_ == Trip::lease || trip_ == Trip::release);
  const bool leaving = trip_ == Trip::release;
  trip_ = Trip::none;
  if (!answer.ok) {
    database_failed(now);
    return;
  }
  database_failures_ = 0;
  if (leaving) {
    lease_.clear();
    released_ = true;
    return;
  }
  const int before = lease_.held();
  for (const int bucket : lease_.granted(answer, now)) forget_bucket(bucket);
  if (lease_.held() > before) next_read_at_ = now;
}

// The bucket has changed hands: its next owner starts from what the database says, so do we.
void OutboxRelay::forget_bucket(int bucket) {
  std::erase_if(buffer_, [&](const RelayRow& row) { return row.bucket == bucket; });
  const size_t marks =
      std::erase_if(sent_, [&](const SentMark& mark) { return mark.bucket == bucket; }) +
      std::erase_if(failed_, [&](const FailedMark& mark) { return mark.bucket == bucket; });
  load_[static_cast<size_t>(bucket)] -= static_cast<int>(marks);
}

void OutboxRelay::on(relay::DataAnswer answer, SteadyTime now, RelayEffects&) {
  DROM_ASSERT(trip_ == Trip::data);
  trip_ = Trip::none;
  DataTrip trip = std::move(under_way_);
  under_way_ = DataTrip();
  if (!answer.ok) {
    // Whether the marks were taken is unknown; marking a second time changes nothing.
    sent_.insert(sent_.begin(), trip.sent.begin(), trip.sent.end());
    failed_.insert(failed_.begin(), std::make_move_iterator(trip.failed.begin()),
                   std::make_move_iterator(trip.failed.end()));
    database_failed(now);
    return;
  }
  database_failures_ = 0;
  for (const SentMark& mark : trip.sent) leave_bucket(mark.bucket, now);
  for (const FailedMark& mark : trip.failed) {
    leave_bucket(mark.bucket, now);
    if (mark.to == FailedMark::To::retry) retry_at_ = std::min(retry_at_, now + mark.delay);
  }
  if (answer.refused > 0) lease_.check(now);
  if (trip.purge > 0) purge_at_ = now + (answer.purged >= trip.purge ? kPurgeAgain : kPurgeEvery);
  if (!trip.read) return;

  const bool found = !answer.rows.empty();
  for (RelayRow& row : answer.rows)
    if (lease_.serves(row.bucket) && !stopping_) add_to_buffer(std::move(row), now);
  if (found || news_) {
    idle_ = policy_.poll_min;
    next_read_at_ = now;
  } else {
    next_read_at_ = now + idle_;
    idle_ = std::min(idle_ * 2, policy_.poll_max);
  }
}

void OutboxRelay::on(relay::Stop, SteadyTime, RelayEffects&) {
  stopping_ = true;
  buffer_.clear();
}

void OutboxRelay::on(relay::Abandon, SteadyTime now, RelayEffects&) {
  for (const auto& [id, row] : in_flight_) leave_bucket(row.bucket, now);
  in_flight_.clear();
  keys_in_flight_.clear();
}

void OutboxRelay::database_failed(SteadyTime now) {
  database_retry_at_ = now + kDatabaseRetry.delay(++database_failures_, 0);
}

bool OutboxRelay::marks_due(SteadyTime now) const {
  const size_t marks = sent_.size() + failed_.size();
  if (marks == 0) return false;
  const bool no_company = in_flight_.empty() && buffer_.empty();
  return no_company || marks >= policy_.mark_max || now >= marks_since_ + policy_.mark_delay;
}

// When the next read makes sense, if ever.
SteadyTime OutboxRelay::read_due() const {
  if (stopping_ || !buffer_.empty() || lease_.serving().empty() || !holds_enough())
    return SteadyTime::max();
  SteadyTime at = std::max(std::min(next_read_at_, retry_at_), pause_until_);
  // Reading around rows under way must step over all rows of their keys, so give them a moment.
  if (!in_flight_.empty()) at = std::max(at, emptied_at_ + policy_.mark_delay);
  if (probing_ && !in_flight_.empty()) return SteadyTime::max();
  // A read around the row under way would find the next one; if the first then fails, it is passed.
  if (policy_.ordering == Ordering::total && !in_flight_.empty()) return SteadyTime::max();
  return at;
}

ReadRequest OutboxRelay::read_request() const {
  ReadRequest read;
  read.max = policy_.read_max;
  read.buckets = lease_.serving();
  read.all_buckets = read.buckets.size() == static_cast<size_t>(kLeaseBuckets);
  if (read.all_buckets) read.buckets.clear();
  const bool by_key = policy_.ordering == Ordering::key;
  if (by_key)
    for (const auto& [key, count] : keys_in_flight_) read.busy_keys.push_back(key);
  for (const auto& [id, row] : in_flight_)
    if (!by_key || row.key.empty()) read.busy_ids.push_back(id);
  return read;
}

void OutboxRelay::start_data(DataTrip trip, SteadyTime now, RelayEffects& out) {
  trip.sent = std::move(sent_);
  trip.failed = std::move(failed_);
  sent_.clear();
  failed_.clear();
  if (trip.read) {
    read_around_ = !in_flight_.empty();
    news_ = false;
    if (now >= retry_at_) retry_at_ = SteadyTime::max();
  }
  under_way_.sent = trip.sent;
  under_way_.failed = trip.failed;
  under_way_.purge = trip.purge;
  if (trip.read) under_way_.read.emplace();
  trip_ = Trip::data;
  out.trip = std::move(trip);
}

void OutboxRelay::plan(SteadyTime now, RelayEffects& out) {
  if (released_) out.finished = true;
  if (trip_ != Trip::none || released_ || now < database_retry_at_) return;
  if (stopping_ && in_flight_.empty() && sent_.empty() && failed_.empty()) {
    trip_ = Trip::release;
    out.trip = ReleaseTrip();
    return;
  }
  if (now >= lease_.due()) {
    LeaseRequest request = lease_.request(load_);
    std::erase_if(buffer_, [&](const RelayRow& row) { return !lease_.serves(row.bucket); });
    if (stopping_) request.claim = 0;
    trip_ = Trip::lease;
    out.trip = std::move(request);
    return;
  }
  const bool read = lease_.valid(now) && now >= read_due();
  if (read || marks_due(now)) {
    DataTrip trip;
    if (read) trip.read = read_request();
    start_data(std::move(trip), now, out);
    return;
  }
  if (policy_.purge_max > 0 && !stopping_ && now >= purge_at_ && lease_.valid(now) &&
      lease_.serves(0)) {
    DataTrip trip;
    trip.purge = policy_.purge_max;
    start_data(std::move(trip), now, out);
  }
}

SteadyTime OutboxRelay::next_wake(SteadyTime now) const {
  SteadyTime at = SteadyTime::max();
  if (!buffer_.empty() && now < pause_until_) at = pause_until_;
  if (trip_ != Trip::none || released_) return at;  // the answer is the next event
  SteadyTime work = lease_.due();
  if (!sent_.empty() || !failed_.empty()) work = std::min(work, marks_since_ + policy_.mark_delay);
  if (lease_.valid(now)) work = std::min(work, read_due());
  if (policy_.purge_max > 0 && lease_.valid(now) && lease_.serves(0) && !stopping_)
    work = std::min(work, purge_at_);
  return std::min(at, std::max(work, database_retry_at_));
}

}  // namespace drom
