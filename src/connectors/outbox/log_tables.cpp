#include "connectors/outbox/log_tables.hpp"

#include <algorithm>

#include "connectors/outbox/log_admin.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"
#include "rt/failpoint.hpp"
#include "sql/replication.hpp"

namespace drom::outbox {
namespace {

// A batch of at most so many rows is read in one piece by transaction; a larger one (a backlog) by
// id, page by page.
constexpr int64_t kBatchMax = 5000;
constexpr int64_t kHeldKeysMax = 20'000;
constexpr int64_t kMarksMax = 1000;
constexpr milliseconds kMaintainEvery{1000};

int64_t integer(const Value& value) { return value.to_int().value_or(0); }

// The guard divides by the number of leases it has found.
bool is_fenced(const Error& error) { return error.type == "22012"; }

Value or_null(const std::string& text) { return text.empty() ? Value() : Value(text); }

bool gives_up(const LogTrip& trip) {
  return std::ranges::any_of(trip.holds,
                             [](const Hold& hold) { return hold.to != FailedMark::To::retry; });
}

// The failpoint before the trip that wants it to fail, or null.
const char* failing_before(const LogTrip& trip) {
  if (trip.read > 0 && failpoint("poll.before_fetch")) return "poll.before_fetch";
  if (gives_up(trip) && failpoint("dlq.before")) return "dlq.before";
  if (trip.serial != 0 && failpoint("mark.before_commit")) return "mark.before_commit";
  return nullptr;
}

const char* failing_after(const LogTrip& trip) {
  if (trip.serial != 0 && failpoint("mark.after_commit")) return "mark.after_commit";
  if (gives_up(trip) && failpoint("dlq.after")) return "dlq.after";
  if (trip.read > 0 && failpoint("poll.after_fetch")) return "poll.after_fetch";
  return nullptr;
}

LogTables::Mark mark_in(const List& row) {
  LogTables::Mark mark;
  mark.s1 = row[1].to_text();
  mark.s2 = row[2].to_text();
  mark.last_id = integer(row[3]);
  mark.place.lsn = sql::parse_lsn(row[5].to_text()).value_or(0);
  mark.place.nth = static_cast<uint64_t>(integer(row[6]));
  return mark;
}

void take_held_keys(const sql::Rows& rows, logs::TripAnswer& answer) {
  answer.hold_all = rows.rows.size() > static_cast<size_t>(kHeldKeysMax);
  for (const List& row : rows.rows)
    if (answer.held_keys.size() < static_cast<size_t>(kHeldKeysMax))
      answer.held_keys.push_back(row[0].to_text());
}

}  // namespace

async<logs::Rows> LogSource::next(int64_t, size_t) { co_return logs::Rows(); }

LogTables::LogTables(sql::Database& database, Clock& clock, Log& log, LogOptions options)
    : database_(database),
      clock_(clock),
      log_(log),
      options_(std::move(options)),
      resource_(log_resource(options_.table)),
      statements_(make_log_statements(options_.table)) {}

async<Result<void>> LogTables::open() {
  Result<void> prepared =
      co_await prepare_log_tables(database_, options_.table, options_.create_table);
  co_return prepared;
}

async<logs::LeaseAnswer> LogTables::lease(LogLease request, Error* failure) {
  logs::LeaseAnswer answer;
  answer.asked = clock_.steady();
  Result<bool> ours = co_await take_lease(request.load);
  if (!ours) {
    *failure = std::move(ours.error());
    co_return answer;
  }
  if (*ours && request.load) {
    Result<void> loaded = co_await load(answer);
    if (!loaded) {
      *failure = std::move(loaded.error());
      co_return answer;
    }
  }
  answer.token = *ours ? generation_ : 0;
  answer.ok = true;
  co_return answer;
}

async<logs::TripAnswer> LogTables::trip(LogTrip trip, Error* failure) {
  logs::TripAnswer answer;
  std::vector<sql::Command> commands;
  if (trip.token != generation_) {
    answer.fenced = true;
    co_return answer;
  }
  if (trip.serial != 0) add_checkpoint(trip, commands);
  const size_t ask = commands.size();
  if (!trip.ask.empty()) {
    List keys;
    for (std::string& key : trip.ask) keys.push_back(std::move(key));
    commands.push_back({statements_.free_keys, {to_json(Value(std::move(keys)))}});
  }
  if (trip.reload) commands.push_back({statements_.held_keys, {kHeldKeysMax + 1}});
  if (trip.read > 0) {
    commands.push_back({statements_.planner, {}});
    commands.push_back(read(trip.read));
  }
  const char* const before = failing_before(trip);
  Result<std::vector<sql::Rows>> results = Result<std::vector<sql::Rows>>(Error());
  if (before)
    results = failpoint_error(before);
  else
    results = co_await database_.execute_all(std::move(commands));
  const char* const after = results ? failing_after(trip) : nullptr;
  if (after) results = failpoint_error(after);
  if (!results) {
    answer.fenced = is_fenced(results.error());
    *failure = std::move(results.error());
    co_return answer;
  }
  if (trip.serial != 0) checkpointed(trip);
  if (!trip.ask.empty())
    for (const List& row : (*results)[ask].rows) answer.free_keys.push_back(row[0].to_text());
  if (trip.reload) take_held_keys((*results)[ask + (trip.ask.empty() ? 0 : 1)], answer);
  if (trip.read > 0) answer.more = take_rows(std::move(results->back()), trip.read, answer.read);
  answer.ok = true;
  co_return answer;
}

async<Result<void>> LogTables::release() {
  List params;
  params.push_back(resource_);
  params.push_back(options_.owner);
  Result<sql::Rows> done = co_await database_.execute(statements_.release, std::move(params));
  held_ = false;
  if (!done) co_return std::move(done.error());
  co_return Result<void>();
}

async<SteadyTime> LogTables::maintain() {
  if (!held_ || fresh_) co_return clock_.steady() + kMaintainEvery;
  List none;
  Result<sql::Rows> rows = co_await database_.execute(statements_.sizes, std::move(none));
  if (!rows) co_return clock_.steady() + kMaintainEvery;
  co_await trim_marks();
  const List row = rows->rows.at(0);
  const int current = static_cast<int>(integer(row[0]));
  const bool full = integer(row[static_cast<size_t>(current) + 1]) >= options_.rotate_bytes;
  int empty = -1;  // the next one in turn
  for (int step = 1; step < kLogSlots; ++step) {
    const int i = (current + step) % kLogSlots;
    bool is_empty = integer(row[static_cast<size_t>(i) + 1]) == 0;
    if (!is_empty) is_empty = co_await truncate(i);
    if (is_empty && empty < 0) empty = i;
  }
  if (full && empty >= 0) {
    List next;
    next.push_back(empty);
    Result<sql::Rows> turned = co_await database_.execute(statements_.set_slot, std::move(next));
    if (turned)
      log_.debug(options_.uri, "rows go to " + log_table(options_.table) + "_" +
                                   std::to_string(empty) + " from now on");
  }
  co_return clock_.steady() + kMaintainEvery;
}

// A load always draws a new token. Taking it waits for a checkpoint of ours that is still under
// way and refuses one that comes later, so that what is read next is final. False: another owner
// has the lease.
async<Result<bool>> LogTables::take_lease(bool load) {
  if (!held_) {
    // Whoever stands by does not write.
    Result<sql::Rows> other = co_await database_.execute(statements_.lease_peek, owner_params());
    if (!other) co_return std::move(other.error());
    if (!other->rows.empty()) co_return false;
  }
  List params = owner_params();
  params.push_back(int64_t{options_.lease.count()});
  params.push_back(int64_t{load ? 1 : 0});
  std::vector<sql::Command> commands;
  commands.push_back({statements_.lease_before, {resource_}});
  commands.push_back({statements_.lease, std::move(params)});
  Result<std::vector<sql::Rows>> results = co_await database_.execute_all(std::move(commands));
  if (!results) co_return std::move(results.error());
  const sql::Rows& before = (*results)[0];
  const sql::Rows& taken = (*results)[1];
  if (taken.rows.empty()) {
    held_ = false;
    co_return false;
  }
  const bool was_ours = !before.rows.empty() && before.rows[0][0].raw() == options_.owner;
  std::string identity = taken.rows[0][1].to_text();
  if (!held_ || !was_ours || identity != identity_) {
    ++generation_;
    fresh_ = true;
  }
  held_ = true;
  token_ = integer(taken.rows[0][0]);
  identity_ = std::move(identity);
  co_return true;
}

async<Result<void>> LogTables::load(logs::LeaseAnswer& answer) {
  co_await ask_system();
  std::vector<sql::Command> commands;
  commands.push_back(guard());
  commands.push_back({statements_.last_mark, {}});
  commands.push_back({statements_.held_keys, {kHeldKeysMax + 1}});
  Result<std::vector<sql::Rows>> results = co_await database_.execute_all(std::move(commands));
  if (!results) co_return std::move(results.error());
  Mark mark;
  std::string system;
  const sql::Rows& last = (*results)[1];
  if (!last.rows.empty()) {
    const List& row = last.rows[0];
    answer.serial = static_cast<uint64_t>(integer(row[0]));
    mark = mark_in(row);
    system = row[4].to_text();
  }
  logs::TripAnswer held;
  take_held_keys((*results)[2], held);
  answer.held_keys = std::move(held.held_keys);
  answer.hold_all = held.hold_all;
  Result<bool> repaired = co_await repair(std::move(system), answer, mark);
  if (!repaired) co_return std::move(repaired.error());
  if (*repaired && !fresh_) ++generation_;
  if (fresh_ || *repaired) resume(std::move(mark));
  fresh_ = false;
  co_return Result<void>();
}

async<> LogTables::ask_system() {
  Result<sql::Rows> rows = co_await database_.execute(statements_.system, List());
  if (rows && !rows->rows.empty()) system_ = rows->rows[0][0].to_text();
  if (!rows) log_.debug(options_.uri, "the cluster is not told: " + rows.error().message());
}

void LogTables::resume(Mark mark) {
  batches_.clear();
  syncs_.clear();
  paging_ = !mark.s2.empty();
  s1_ = mark.s1;
  s2_ = mark.s2;
  last_id_ = mark.last_id;
  if (paging_) batches_.push_back({++number_, s1_, s2_});
  mark_ = std::move(mark);
}

// After a dump was restored elsewhere, transaction ids are another server's and mean nothing.
// What was delivered cannot be told apart any more, so everything that the tables still hold is
// delivered (again).
async<Result<bool>> LogTables::repair(std::string system, logs::LeaseAnswer& answer, Mark& mark) {
  List params;
  params.push_back(mark.s1);
  Result<sql::Rows> regressed =
      co_await database_.execute(statements_.regressed, std::move(params));
  if (!regressed) co_return std::move(regressed.error());
  const bool elsewhere = !system.empty() && !system_.empty() && system != system_;
  if (!elsewhere && !regressed->rows.at(0).at(0).to_bool().value_or(false)) co_return false;
  log_.warn(options_.uri,
            "the checkpoint is of another database server (a restored dump?): all events that the "
            "log tables hold are delivered again");
  mark = Mark();
  std::vector<sql::Command> commands;
  commands.push_back(guard());
  commands.push_back({statements_.restamp, {}});
  commands.push_back(mark_command(answer.serial + 1, mark));
  Result<std::vector<sql::Rows>> done = co_await database_.execute_all(std::move(commands));
  if (!done) co_return std::move(done.error());
  ++answer.serial;
  co_return true;
}

LogTables::Mark LogTables::mark_of(const LogPosition& position) const {
  Mark mark = mark_;
  if (in_stream(position)) {
    mark.place = place_of(position);
    for (const Sync& sync : syncs_) {
      if (sync.at > SyncPoint{epoch_of(position), mark.place.lsn}) break;
      mark.s1 = sync.snapshot;
      mark.s2.clear();
      mark.last_id = 0;
    }
    return mark;
  }
  const auto batch = std::ranges::find(batches_, position.major, &Batch::number);
  if (batch == batches_.end()) return mark;
  const bool whole = position.minor == 0;
  mark.s1 = whole ? batch->s2 : batch->s1;
  mark.s2 = whole ? "" : batch->s2;
  mark.last_id = static_cast<int64_t>(position.minor);
  return mark;
}

void LogTables::synchronized(SyncPoint at, std::string snapshot) {
  s1_ = snapshot;
  syncs_.push_back({at, std::move(snapshot), number_});
}

void LogTables::add_checkpoint(const LogTrip& trip, std::vector<sql::Command>& commands) const {
  commands.push_back(guard());
  if (!trip.holds.empty()) {
    commands.push_back({statements_.planner, {}});  // the rows are found by id
    commands.push_back({statements_.hold, {holds_json(trip.holds)}});
  }
  commands.push_back(mark_command(trip.serial, mark_of(trip.position)));
}

sql::Command LogTables::mark_command(uint64_t serial, const Mark& mark) const {
  return {statements_.mark,
          {static_cast<int64_t>(serial), mark.s1, or_null(mark.s2), mark.last_id, system_,
           mark.place.lsn == 0 ? Value() : Value(sql::lsn_text(mark.place.lsn)),
           static_cast<int64_t>(mark.place.nth)}};
}

void LogTables::checkpointed(const LogTrip& trip) {
  mark_ = mark_of(trip.position);
  const auto forget_batches = [this](uint64_t last) {
    while (!batches_.empty() && batches_.front().number <= last) batches_.pop_front();
  };
  if (in_stream(trip.position)) {
    const SyncPoint passed{epoch_of(trip.position), mark_.place.lsn};
    for (; !syncs_.empty() && syncs_.front().at <= passed; syncs_.pop_front())
      forget_batches(syncs_.front().batches);
  } else if (trip.position.is_set()) {
    forget_batches(trip.position.major - (trip.position.minor == 0 ? 0 : 1));
  }
}

sql::Command LogTables::read(size_t max) const {
  const Snapshot from(s1_);
  if (paging_)
    return {statements_.read_page, {last_id_, from.text, s2_, static_cast<int64_t>(max)}};
  return {statements_.read_batch, {from.xmax, from.xips, from.text, kBatchMax}};
}

// True when there is more to read at once.
bool LogTables::take_rows(sql::Rows rows, size_t max, logs::Rows& out) {
  if (paging_) return take_page(std::move(rows.rows), max, out);
  const List& head = rows.rows.at(0);
  std::string now_visible = head[kColEventId].to_text();
  const int64_t count = integer(head[kColAttempts]);
  if (count == 0) {
    s1_ = std::move(now_visible);
    return false;
  }
  batches_.push_back({++number_, s1_, now_visible});
  if (count > kBatchMax) {
    paging_ = true;
    s2_ = std::move(now_visible);
    last_id_ = 0;
    return true;
  }
  for (size_t i = 1; i < rows.rows.size(); ++i) out.rows.push_back(row(std::move(rows.rows[i])));
  s1_ = std::move(now_visible);
  out.end = LogPosition{number_, 0};
  return count > kBatchMax / 2;
}

bool LogTables::take_page(std::vector<List> rows, size_t max, logs::Rows& out) {
  for (List& columns : rows) out.rows.push_back(row(std::move(columns)));
  if (!out.rows.empty()) last_id_ = out.rows.back().id;
  if (out.rows.size() >= max) return true;
  out.end = LogPosition{number_, 0};
  paging_ = false;
  s1_ = s2_;
  return true;
}

LogRow LogTables::row(List columns) const {
  LogRow out;
  out.id = integer(columns[kColId]);
  out.position = {number_, static_cast<uint64_t>(out.id)};
  if (options_.keyed) out.key = columns[kColKey].to_text();
  if (const std::optional<int64_t> ms = columns[kColExpiresIn].to_int())
    out.expires_in = milliseconds(*ms);
  out.later = columns[kColLater].to_bool().value_or(false);
  out.columns = std::move(columns);
  return out;
}

// Begins a transaction that locks and then looks at what was committed before the lock: each
// statement needs its own snapshot, whatever the database's default is.
async<Result<std::unique_ptr<sql::Transaction>>> LogTables::begin_guarded(std::string lock) {
  Result<std::unique_ptr<sql::Transaction>> begun = co_await database_.begin();
  if (!begun) co_return begun;
  std::vector<sql::Command> commands;
  commands.push_back({statements_.read_committed, {}});
  commands.push_back(guard());
  commands.push_back({std::move(lock), {}});
  Result<std::vector<sql::Rows>> held = co_await (*begun)->execute_all(std::move(commands));
  if (held) co_return begun;
  co_await (*begun)->rollback();
  co_return std::move(held.error());
}

// Checkpoints are insert-only, like the log: a row that is updated ten times a second would grow
// a long chain of versions under one open transaction. Emptying them must not wait for a reader
// (a dump), or delivery would: it happens beside the checkpoints and gives up at once.
async<> LogTables::trim_marks() {
  Result<sql::Rows> count = co_await database_.execute(statements_.marks_count, List());
  if (!count || integer(count->rows.at(0).at(0)) < kMarksMax) co_return;
  Result<std::unique_ptr<sql::Transaction>> begun = co_await begin_guarded(statements_.marks_lock);
  if (!begun) co_return;
  sql::Transaction& transaction = **begun;
  // What the table says, not what we know: the result of a checkpoint may have been lost.
  Result<sql::Rows> last = co_await transaction.execute(statements_.last_mark, List());
  bool good = last.ok() && !last->rows.empty();
  if (good) {
    std::vector<sql::Command> commands;
    commands.push_back({statements_.marks_reset, {}});
    commands.push_back({statements_.mark, std::move(last->rows[0])});
    Result<std::vector<sql::Rows>> done = co_await transaction.execute_all(std::move(commands));
    good = done.ok();
  }
  if (!good) {
    co_await transaction.rollback();
    co_return;
  }
  Result<void> committed = co_await transaction.commit();
  if (!committed) log_.debug(options_.uri, "old checkpoints could not be removed yet");
}

// Empties a table when all its rows are behind the checkpoint. Whoever has rows in it that are
// not committed holds a lock on it, so getting ours at once means that there are none.
async<bool> LogTables::truncate(int slot) {
  const Snapshot mark(mark_.s1);
  Result<std::unique_ptr<sql::Transaction>> begun = co_await begin_guarded(statements_.lock[slot]);
  if (!begun) co_return false;
  sql::Transaction& transaction = **begun;
  List params;
  params.push_back(mark.xmax);
  params.push_back(mark.xips);
  params.push_back(mark.text);
  Result<sql::Rows> pending =
      co_await transaction.execute(statements_.holds_pending[slot], std::move(params));
  bool empty = pending.ok() && pending->rows.empty();
  if (empty) {
    Result<sql::Rows> done = co_await transaction.execute(statements_.truncate[slot], List());
    empty = done.ok();
  }
  if (!empty) {
    co_await transaction.rollback();
    co_return false;
  }
  Result<void> committed = co_await transaction.commit();
  co_return committed.ok();
}

std::unique_ptr<LogSource> make_log_tables(sql::Database& database, Clock& clock, Log& log,
                                           LogOptions options) {
  return std::make_unique<LogTables>(database, clock, log, std::move(options));
}

}  // namespace drom::outbox
