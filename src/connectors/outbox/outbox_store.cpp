#include "connectors/outbox/outbox_store.hpp"

#include <algorithm>
#include <map>

#include "connectors/outbox/outbox_message.hpp"
#include "connectors/outbox/relay_lock.hpp"
#include "drom/base/json.hpp"
#include "rt/failpoint.hpp"

namespace drom::outbox {
namespace {

int64_t integer(const Value& value) { return value.to_int().value_or(0); }

std::string_view status_of(FailedMark::To to) {
  switch (to) {
    case FailedMark::To::retry: return "due";
    case FailedMark::To::dead: return "dead";
    case FailedMark::To::parked: return "parked";
  }
  return "due";
}

void add_holdings(const sql::Rows& rows, LeaseAnswer& answer) {
  for (const List& row : rows.rows)
    answer.held.push_back({static_cast<int>(integer(row[0])), integer(row[1])});
}

Error unusable_table(const std::string& table, const Error& cause) {
  return Error(ErrorKind::config,
               "table " + table + " is not an outbox that we can work with: " + cause.what,
               "`drom outbox init` prints the table definition");
}

bool gives_up(const DataTrip& trip) {
  return std::ranges::any_of(
      trip.failed, [](const FailedMark& mark) { return mark.to != FailedMark::To::retry; });
}

// The failpoint before the trip that wants it to fail, or null.
const char* failing_before(const DataTrip& trip) {
  if (trip.read && failpoint("poll.before_fetch")) return "poll.before_fetch";
  if (gives_up(trip) && failpoint("dlq.before")) return "dlq.before";
  if (!trip.sent.empty() && failpoint("mark.before_commit")) return "mark.before_commit";
  return nullptr;
}

const char* failing_after(const DataTrip& trip) {
  if (!trip.sent.empty() && failpoint("mark.after_commit")) return "mark.after_commit";
  if (gives_up(trip) && failpoint("dlq.after")) return "dlq.after";
  if (trip.read && failpoint("poll.after_fetch")) return "poll.after_fetch";
  return nullptr;
}

async<Result<bool>> table_exists(sql::Database& database, const Statements& statements,
                                 std::string table) {
  List params;
  params.push_back(table);
  Result<sql::Rows> rows = co_await database.execute(statements.exists, std::move(params));
  if (!rows) co_return std::move(rows.error());
  co_return !rows->rows.empty();
}

}  // namespace

async<Result<void>> prepare_tables(sql::Database& database, std::string table, bool create) {
  const Statements statements = make_statements(database.dialect(), table, SentPolicy::mark);
  Result<bool> outbox = co_await table_exists(database, statements, table);
  if (!outbox) co_return std::move(outbox.error());
  std::string lease_table = "drom_lease";
  Result<bool> lease = co_await table_exists(database, statements, lease_table);
  if (!lease) co_return std::move(lease.error());
  if (!*outbox || !*lease) {
    if (!create)
      co_return Error(ErrorKind::config,
                      "table " + (*outbox ? lease_table : table) + " does not exist",
                      "set createTable=true, or create it with `drom outbox init`");
    Result<void> created = co_await database.script(outbox_ddl(database.dialect(), table));
    if (!created) {
      // Another process may have created it in between; PostgreSQL then reports a conflict.
      Result<bool> there = co_await table_exists(database, statements, table);
      if (!there) co_return std::move(there.error());
      if (!*there) co_return created;
    }
  }
  // A read that finds nothing tells whether all columns are there.
  List params;
  params.push_back(id_list(database.dialect(), {}));
  params.push_back("[]");
  params.push_back(0);
  Result<sql::Rows> probe = co_await database.execute(statements.read_all, std::move(params));
  if (!probe && probe.error().kind == ErrorKind::rejected)
    co_return unusable_table(table, probe.error());
  if (!probe) co_return std::move(probe.error());
  co_return Result<void>();
}

namespace {

class OutboxStore final : public RelayStore {
 public:
  OutboxStore(sql::Database& database, Clock& clock, StoreOptions options)
      : database_(database),
        clock_(clock),
        options_(std::move(options)),
        statements_(make_statements(database.dialect(), options_.shape, options_.sent)) {}

  async<Result<void>> open() override;
  bool guarded() const override { return lock_ != nullptr; }
  void set_lease(milliseconds lease) override { options_.lease = lease; }
  void close() override { lock_.reset(); }
  async<LeaseAnswer> lease(LeaseRequest request, Error* failure) override;
  async<relay::DataAnswer> data(DataTrip trip, Error* failure) override;
  async<LeaseAnswer> leave(Error* failure) override;

 private:
  void add_sent_marks(const std::vector<SentMark>& marks, std::vector<sql::Command>& commands,
                      std::vector<size_t>& counted) const;
  sql::Command failed_marks(const std::vector<FailedMark>& marks) const;
  sql::Command read(const ReadRequest& request) const;
  async<Result<std::vector<sql::Rows>>> run(std::vector<sql::Command> commands);

  sql::Database& database_;
  Clock& clock_;
  StoreOptions options_;
  Statements statements_;
  std::unique_ptr<RelayLock> lock_;  // SQLite in a file: its holder is the relay
};

async<Result<void>> OutboxStore::open() {
  if (database_.dialect() != sql::Dialect::sqlite) co_return Result<void>();
  List none;
  Result<sql::Rows> rows = co_await database_.execute(
      "SELECT file FROM pragma_database_list WHERE name = 'main'", std::move(none));
  if (!rows) co_return std::move(rows.error());
  const std::string file = rows->rows.empty() ? std::string() : rows->rows[0][0].to_text();
  // A database in memory belongs to this process; its leases are enough.
  if (!file.empty())
    lock_ = std::make_unique<RelayLock>(file + "-" + options_.shape.table + ".relay");
  co_return Result<void>();
}

async<LeaseAnswer> OutboxStore::lease(LeaseRequest request, Error* failure) {
  LeaseAnswer answer;
  answer.asked = clock_.steady();
  if (lock_) {
    Result<bool> locked = lock_->try_acquire();
    if (!locked) {
      *failure = std::move(locked.error());
      co_return answer;
    }
    if (!*locked) {  // another process is the relay: stand by
      answer.ok = true;
      co_return answer;
    }
  }
  const Value resource(options_.shape.table);
  const Value owner(options_.owner);
  const Value duration(options_.lease.count());
  std::vector<sql::Command> commands;
  if (!request.release.empty()) {
    const std::vector<int64_t> buckets(request.release.begin(), request.release.end());
    commands.push_back(
        {statements_.give_back, {resource, owner, id_list(database_.dialect(), buckets)}});
  }
  commands.push_back({statements_.heartbeat, {resource, owner, duration}});
  commands.push_back({statements_.forget_relays, {}});
  const size_t renewed = commands.size();
  commands.push_back({statements_.renew, {resource, owner, duration}});
  if (request.claim > 0 && !statements_.seed.empty())
    commands.push_back({statements_.seed, {resource}});
  if (request.claim > 0)
    commands.push_back(
        {statements_.claim, {resource, owner, duration, request.claim, lock_ ? 1 : 0}});
  const bool asks = !statements_.held.empty();
  if (asks) commands.push_back({statements_.held, {resource, owner}});
  const size_t held = commands.size() - 1;
  commands.push_back({statements_.count_relays, {resource}});
  Result<std::vector<sql::Rows>> results = Result<std::vector<sql::Rows>>(Error());
  if (failpoint("lease.renew") || (request.claim > 0 && failpoint("claim.before_commit")))
    results = failpoint_error("lease.renew");
  else
    results = co_await run(std::move(commands));
  if (results && request.claim > 0 && failpoint("claim.after_commit"))
    results = failpoint_error("claim.after_commit");
  if (!results) {
    *failure = std::move(results.error());
    co_return answer;
  }
  answer.ok = true;
  add_holdings((*results)[asks ? held : renewed], answer);
  if (request.claim > 0 && !asks) add_holdings((*results)[renewed + 1], answer);
  // The lock file admits one relay; rows of dead ones must not make it share.
  if (!lock_ && !results->back().rows.empty())
    answer.relays = static_cast<int>(integer(results->back().rows[0][0]));
  co_return answer;
}

async<LeaseAnswer> OutboxStore::leave(Error* failure) {
  LeaseAnswer answer;
  answer.asked = clock_.steady();
  std::vector<sql::Command> commands;
  commands.push_back({statements_.give_back_all, {options_.shape.table, options_.owner}});
  commands.push_back({statements_.leave, {options_.shape.table, options_.owner}});
  Result<std::vector<sql::Rows>> results = co_await run(std::move(commands));
  if (!results) {
    *failure = std::move(results.error());
    co_return answer;
  }
  answer.ok = true;
  co_return answer;
}

// One statement for all rows of one token; there is hardly ever more than one. `counted` tells
// which commands say how many marks were taken.
void OutboxStore::add_sent_marks(const std::vector<SentMark>& marks,
                                 std::vector<sql::Command>& commands,
                                 std::vector<size_t>& counted) const {
  std::map<int64_t, std::vector<int64_t>> by_token;
  for (const SentMark& mark : marks) by_token[mark.token].push_back(mark.id);
  for (const auto& [token, ids] : by_token) {
    const std::string list = id_list(database_.dialect(), ids);
    const List params{list, options_.shape.table, options_.owner, token};
    if (!statements_.copy_sent.empty()) commands.push_back({statements_.copy_sent, params});
    counted.push_back(commands.size());
    commands.push_back({statements_.mark_sent, params});
    if (!statements_.end_trouble.empty()) commands.push_back({statements_.end_trouble, {list}});
  }
}

sql::Command OutboxStore::failed_marks(const std::vector<FailedMark>& marks) const {
  List list;
  list.reserve(marks.size());
  for (const FailedMark& mark : marks) {
    Object entry;
    entry.append("id", mark.id);
    entry.append("token", mark.token);
    entry.append("status", status_of(mark.to));
    entry.append("attempts", mark.attempts);
    entry.append("delay", int64_t{mark.delay.count()});
    entry.append("error", storable_error(mark.error));
    list.push_back(std::move(entry));
  }
  return {statements_.mark_failed,
          {to_json(Value(std::move(list))), options_.shape.table, options_.owner}};
}

sql::Command OutboxStore::read(const ReadRequest& request) const {
  const sql::Dialect dialect = database_.dialect();
  List keys;
  keys.reserve(request.busy_keys.size());
  for (const std::string& key : request.busy_keys) keys.push_back(key);
  List params{id_list(dialect, request.busy_ids), to_json(Value(std::move(keys))),
              static_cast<int64_t>(request.max)};
  if (request.all_buckets) return {statements_.read_all, std::move(params)};
  params.push_back(
      id_list(dialect, std::vector<int64_t>(request.buckets.begin(), request.buckets.end())));
  return {statements_.read_some, std::move(params)};
}

// A lone statement needs no transaction of ours: an idle look at SQLite then takes no write lock.
// MySQL takes one statement at a time, and locks must not outlast the one that took them; but what
// is copied for the archive is deleted in the same transaction.
async<Result<std::vector<sql::Rows>>> OutboxStore::run(std::vector<sql::Command> commands) {
  if (database_.dialect() == sql::Dialect::mysql) {
    std::vector<sql::Rows> out;
    for (size_t i = 0; i < commands.size(); ++i) {
      if (commands[i].sql == statements_.copy_sent) {
        std::vector<sql::Command> move{std::move(commands[i]), std::move(commands[i + 1])};
        Result<std::vector<sql::Rows>> moved = co_await database_.execute_all(std::move(move));
        if (!moved) co_return std::move(moved.error());
        std::ranges::move(*moved, std::back_inserter(out));
        ++i;
        continue;
      }
      Result<sql::Rows> rows =
          co_await database_.execute(std::move(commands[i].sql), std::move(commands[i].params));
      if (!rows) co_return std::move(rows.error());
      out.push_back(std::move(*rows));
    }
    co_return out;
  }
  if (commands.size() != 1) {
    Result<std::vector<sql::Rows>> all = co_await database_.execute_all(std::move(commands));
    co_return all;
  }
  Result<sql::Rows> one = co_await database_.execute(std::move(commands.front().sql),
                                                     std::move(commands.front().params));
  if (!one) co_return std::move(one.error());
  std::vector<sql::Rows> out;
  out.push_back(std::move(*one));
  co_return out;
}

async<relay::DataAnswer> OutboxStore::data(DataTrip trip, Error* failure) {
  std::vector<sql::Command> commands;
  // What a failure writes may undo nothing of the next owner: hold the lease while writing it.
  if (!trip.failed.empty() && !statements_.lock_lease.empty())
    commands.push_back({statements_.lock_lease, {options_.shape.table, options_.owner}});
  std::vector<size_t> counted;
  add_sent_marks(trip.sent, commands, counted);
  if (!trip.failed.empty()) {
    counted.push_back(commands.size());
    commands.push_back(failed_marks(trip.failed));
  }
  const size_t marks_end = commands.size();
  const bool purges = trip.purge > 0 && !statements_.purge.empty();
  if (purges)
    commands.push_back({statements_.purge,
                        {static_cast<int64_t>(trip.purge), int64_t{options_.retention.count()}}});
  if (trip.read && !statements_.before_read.empty())
    commands.push_back({statements_.before_read, {}});
  if (trip.read) commands.push_back(read(*trip.read));

  relay::DataAnswer answer;
  const char* const before = failing_before(trip);
  Result<std::vector<sql::Rows>> results = Result<std::vector<sql::Rows>>(Error());
  if (before)
    results = failpoint_error(before);
  else
    results = co_await run(std::move(commands));
  const char* const after = results ? failing_after(trip) : nullptr;
  if (after) results = failpoint_error(after);
  if (!results) {
    *failure = std::move(results.error());
    co_return answer;
  }
  answer.ok = true;
  size_t taken = 0;
  for (const size_t i : counted) {
    size_t marked = static_cast<size_t>((*results)[i].affected);
    // MySQL counts two for a row of drom_trouble that is written over.
    if (i + 1 == marks_end && !trip.failed.empty()) marked = std::min(marked, trip.failed.size());
    taken += marked;
  }
  const size_t wanted = trip.sent.size() + trip.failed.size();
  answer.refused = wanted > taken ? wanted - taken : 0;
  if (purges) answer.purged = static_cast<size_t>((*results)[marks_end].affected);
  if (!trip.read) co_return answer;
  std::vector<List>& rows = results->back().rows;
  answer.rows.reserve(rows.size());
  for (List& row : rows) {
    RelayRow out;
    out.id = integer(row[kColId]);
    out.bucket = static_cast<int>(integer(row[kColBucket]));
    out.attempts = static_cast<int>(integer(row[kColAttempts]));
    out.key = row[kColKey].to_text();
    if (const std::optional<int64_t> ms = row[kColExpiresIn].to_int())
      out.expires_in = milliseconds(*ms);
    out.columns = std::move(row);
    answer.rows.push_back(std::move(out));
  }
  co_return answer;
}

}  // namespace

std::unique_ptr<RelayStore> make_sql_store(sql::Database& database, Clock& clock,
                                           StoreOptions options) {
  return std::make_unique<OutboxStore>(database, clock, std::move(options));
}

}  // namespace drom::outbox
