#include "sql/postgres/pg_connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "rt/failpoint.hpp"
#include "rt/lane.hpp"
#include "sql/postgres/pg_error.hpp"

namespace drom::sql {
namespace {

Error unknown(const char* point) {
  return Error(ErrorKind::not_connected,
               failpoint_error(point).what + "; whether the work was committed is unknown");
}

Rows to_rows(const PGresult* answer) {
  Rows out;
  const int columns = PQnfields(answer);
  const int rows = PQntuples(answer);
  std::vector<Oid> types;
  for (int c = 0; c < columns; ++c) {
    out.columns.emplace_back(PQfname(answer, c));
    types.push_back(PQftype(answer, c));
  }
  out.rows.reserve(static_cast<size_t>(rows));
  for (int r = 0; r < rows; ++r) {
    List row;
    row.reserve(static_cast<size_t>(columns));
    for (int c = 0; c < columns; ++c) {
      if (PQgetisnull(answer, r, c)) {
        row.emplace_back();
        continue;
      }
      const std::string_view text(PQgetvalue(answer, r, c),
                                  static_cast<size_t>(PQgetlength(answer, r, c)));
      row.push_back(decode(text, types[static_cast<size_t>(c)]));
    }
    out.rows.push_back(std::move(row));
  }
  // The tag counts the rows of a SELECT too; those are no changes.
  const std::string_view tag = PQcmdStatus(const_cast<PGresult*>(answer));
  if (!tag.starts_with("SELECT") && !tag.starts_with("FETCH"))
    out.affected = std::strtoll(PQcmdTuples(const_cast<PGresult*>(answer)), nullptr, 10);
  return out;
}

bool has_failed(const PGresult* answer) {
  const ExecStatusType status = PQresultStatus(answer);
  return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY;
}

Error refused(std::string what, std::string hint, std::string type) {
  Error error(ErrorKind::rejected, std::move(what), std::move(hint));
  error.type = std::move(type);
  return error;
}

}  // namespace

PgConnection::~PgConnection() { watcher_.forget(); }

Error PgConnection::lost() {
  return pg_not_connected("lost the connection to PostgreSQL", PQerrorMessage(handle_.get()),
                          options_.password);
}

Error PgConnection::failure(const PGresult* answer) {
  const auto field = [answer](int code) {
    const char* text = PQresultErrorField(answer, code);
    return std::string_view(text ? text : "");
  };
  const std::string_view state = field(PG_DIAG_SQLSTATE);
  // libpq's own words, when it is the one who noticed the end.
  if (state.empty()) return lost();
  return pg_error(state, field(PG_DIAG_MESSAGE_PRIMARY), field(PG_DIAG_MESSAGE_HINT));
}

milliseconds PgConnection::patience(size_t statements) const {
  // The server answers in time or ends the statement itself; a batch may come back in one piece.
  return options_.statement_timeout *
             static_cast<int64_t>(std::clamp<size_t>(statements, 1, 10'000)) +
         std::chrono::seconds(5);
}

// Moves bytes both ways until there may be an answer to take.
async<Result<void>> PgConnection::fill(milliseconds patience) {
  const int unsent = PQflush(handle_.get());
  if (unsent < 0) co_return lost();
  const auto interest = unsent ? FdWatcher::Interest::read_or_write : FdWatcher::Interest::read;
  const FdWatcher::Event event = co_await watcher_.wait(interest, patience);
  if (event == FdWatcher::Event::timeout)
    co_return Error(ErrorKind::timeout,
                    "PostgreSQL has not answered within " + drom::to_string(patience),
                    "check the server and the network; statementTimeout sets the time");
  if (event == FdWatcher::Event::broken) co_return lost();
  if (PQconsumeInput(handle_.get()) == 0) co_return lost();
  co_return Result<void>();
}

// All answers up to the end of the pipeline.
async<Result<void>> PgConnection::collect(Answers& answers, milliseconds patience) {
  int silence = 0;
  while (true) {
    if (PQisBusy(handle_.get())) {
      const Result<void> filled = co_await fill(patience);
      if (!filled) co_return filled;
      continue;
    }
    Answer answer(PQgetResult(handle_.get()));
    if (!answer) {
      // One null ends each statement; more mean that nothing comes any more.
      if (++silence > 2 || PQstatus(handle_.get()) == CONNECTION_BAD) co_return lost();
      continue;
    }
    silence = 0;
    if (PQresultStatus(answer.get()) == PGRES_PIPELINE_SYNC) co_return Result<void>();
    if (has_failed(answer.get()) && PQresultStatus(answer.get()) != PGRES_PIPELINE_ABORTED) {
      Error error = failure(answer.get());
      // The end of the session: no end of the pipeline will follow.
      if (error.kind == ErrorKind::not_connected) co_return error;
    }
    answers.list.push_back(std::move(answer));
  }
}

async<Result<void>> PgConnection::prepare(const std::vector<Command>& commands) {
  struct New {
    size_t command;
    std::string name;
  };
  std::vector<New> fresh;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (statements_.find(commands[i].sql)) continue;
    const auto same = [&](const New& n) { return commands[n.command].sql == commands[i].sql; };
    if (std::any_of(fresh.begin(), fresh.end(), same)) continue;
    fresh.push_back(New{i, "drom_" + std::to_string(next_name_++)});
  }
  if (fresh.empty()) co_return Result<void>();

  bool sent = true;
  for (const std::string& name : unwanted_)
    sent = sent && send_text(("DEALLOCATE " + name).c_str());
  for (const New& n : fresh) {
    sent =
        sent &&
        PQsendPrepare(handle_.get(), n.name.c_str(), commands[n.command].sql.c_str(), 0, nullptr) &&
        PQsendDescribePrepared(handle_.get(), n.name.c_str());
  }
  if (!sent || !PQpipelineSync(handle_.get())) co_return lost();
  Answers answers;
  const Result<void> collected = co_await collect(answers, patience(fresh.size()));
  if (!collected) co_return collected;
  size_t next = unwanted_.size();
  unwanted_.clear();
  for (const New& n : fresh) {
    for (int step = 0; step < 2; ++step, ++next) {
      if (next >= answers.list.size()) co_return lost();
      const PGresult* answer = answers.list[next].get();
      if (has_failed(answer)) {
        Error error = failure(answer);
        if (commands.size() > 1)
          error.what += " (statement " + std::to_string(n.command + 1) + " of " +
                        std::to_string(commands.size()) + ")";
        co_return error;
      }
    }
    const PGresult* described = answers.list[next - 1].get();
    Prepared prepared;
    prepared.name = n.name;
    for (int p = 0; p < PQnparams(described); ++p)
      prepared.types.push_back(PQparamtype(described, p));
    statements_.insert(commands[n.command].sql, std::move(prepared));
  }
  co_return Result<void>();
}

// Everything that can be known to be wrong is found before the first byte goes out.
Result<void> PgConnection::check(const std::vector<Command>& commands) {
  PgParam scratch;
  for (const Command& command : commands) {
    const Prepared* prepared = statements_.find(command.sql);
    DROM_ASSERT(prepared);
    if (command.params.size() != prepared->types.size())
      return refused("the statement takes " + std::to_string(prepared->types.size()) +
                         " parameters and got " + std::to_string(command.params.size()),
                     "", "08P01");
    for (size_t p = 0; p < command.params.size(); ++p)
      if (Result<void> fits = encode(command.params[p], prepared->types[p], scratch); !fits)
        return fits;
  }
  return {};
}

bool PgConnection::send(const PgTrip& trip) {
  if (trip.begin && !send_text("BEGIN")) return false;
  for (const Command& command : trip.commands) {
    const Prepared& prepared = *statements_.find(command.sql);
    const size_t count = command.params.size();
    if (params_.size() < count) params_.resize(count);
    values_.resize(count);
    lengths_.resize(count);
    formats_.resize(count);
    for (size_t p = 0; p < count; ++p) {
      PgParam& param = params_[p];
      DROM_ASSERT(encode(command.params[p], prepared.types[p], param));  // checked before
      values_[p] = param.data;
      lengths_[p] = param.size;
      formats_[p] = param.binary ? 1 : 0;
    }
    if (!PQsendQueryPrepared(handle_.get(), prepared.name.c_str(), static_cast<int>(count),
                             values_.data(), lengths_.data(), formats_.data(), 0))
      return false;
  }
  if (trip.commit && !send_text("COMMIT")) return false;
  return PQpipelineSync(handle_.get()) == 1;
}

async<Result<std::vector<Rows>>> PgConnection::run(const PgTrip& trip) {
  busy_ = true;
  Result<void> ready = co_await prepare(trip.commands);
  if (ready) ready = check(trip.commands);
  if (!ready) {
    busy_ = ready.error().retryable();
    co_return ready.error();
  }
  const bool may_commit =
      trip.commit || (!trip.begin && PQtransactionStatus(handle_.get()) == PQTRANS_IDLE);
  if (trip.commit && failpoint("commit.before")) co_return failpoint_error("commit.before");
  if (!send(trip)) co_return lost();
  if (trip.commit && failpoint("commit.sent")) co_return unknown("commit.sent");
  Answers answers;
  const Result<void> collected = co_await collect(answers, patience(trip.commands.size()));
  if (trip.commit && failpoint("commit.done")) co_return unknown("commit.done");
  if (!collected) {
    Error error = collected.error();
    if (may_commit) error.what += "; whether the work was committed is unknown";
    co_return error;
  }
  busy_ = false;
  for (Prepared& old : statements_.trim()) unwanted_.push_back(std::move(old.name));
  co_return read(trip, answers);
}

Result<std::vector<Rows>> PgConnection::read(const PgTrip& trip, const Answers& answers) {
  const size_t first = trip.begin ? 1 : 0;
  std::vector<Rows> out;
  out.reserve(trip.commands.size());
  for (size_t i = 0; i < answers.list.size(); ++i) {
    const PGresult* answer = answers.list[i].get();
    const bool statement = i >= first && i - first < trip.commands.size();
    if (has_failed(answer)) {
      Error error = failure(answer);
      if (statement && is_stale_plan(error.type, error.what)) {
        const std::string& sql = trip.commands[i - first].sql;
        const Prepared* const stale = statements_.find(sql);
        if (stale && error.type != "26000") unwanted_.push_back(stale->name);
        statements_.erase(sql);
      }
      if (statement && trip.commands.size() > 1)
        error.what += " (statement " + std::to_string(i - first + 1) + " of " +
                      std::to_string(trip.commands.size()) + ")";
      return error;
    }
    if (statement) out.push_back(to_rows(answer));
  }
  if (out.size() != trip.commands.size())
    return Error(ErrorKind::bug, "PostgreSQL has sent too few answers");
  // COMMIT of a transaction that has failed before is answered by a friendly ROLLBACK.
  if (trip.commit && std::string_view(PQcmdStatus(answers.list.back().get())) != "COMMIT")
    return refused("the transaction was rolled back", "", "25P02");
  return out;
}

async<Result<void>> PgConnection::script(const std::string& text) {
  if (text.find('\0') != std::string::npos)
    co_return refused("the script has a NUL byte", "", "22021");
  busy_ = true;
  // Several statements in one text go by the simple protocol only; the server runs them as one
  // transaction.
  if (!PQexitPipelineMode(handle_.get()) || !PQsendQuery(handle_.get(), text.c_str()))
    co_return lost();
  std::optional<Error> failed;
  while (true) {
    if (PQisBusy(handle_.get())) {
      const Result<void> filled = co_await fill(patience(100));
      if (!filled) co_return filled;
      continue;
    }
    const Answer answer(PQgetResult(handle_.get()));
    if (!answer) break;
    if (PQresultStatus(answer.get()) == PGRES_COPY_IN ||
        PQresultStatus(answer.get()) == PGRES_COPY_OUT)
      co_return refused("a script cannot COPY from or to the client", "",
                        "0A000");  // discards the session
    if (has_failed(answer.get()) && !failed) failed = failure(answer.get());
  }
  if (PQstatus(handle_.get()) == CONNECTION_BAD || !PQenterPipelineMode(handle_.get()))
    co_return failed ? std::move(*failed) : lost();
  busy_ = false;
  if (failed) co_return std::move(*failed);
  co_return Result<void>();
}

async<Result<void>> PgConnection::roll_back() {
  busy_ = true;
  if (!send_text("ROLLBACK") || !PQpipelineSync(handle_.get())) co_return lost();
  Answers answers;
  const Result<void> collected = co_await collect(answers, patience(1));
  busy_ = !collected;
  co_return collected;
}

bool PgConnection::reusable() const {
  return !busy_ && PQstatus(handle_.get()) == CONNECTION_OK &&
         PQtransactionStatus(handle_.get()) == PQTRANS_IDLE;
}

bool PgConnection::in_transaction() const {
  const PGTransactionStatusType status = PQtransactionStatus(handle_.get());
  return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
}

bool PgConnection::still_there() {
  // A peek is one system call in the common case, when nothing has arrived. A session that the
  // server has ended has a farewell and then the end of the stream.
  char byte = 0;
  for (int i = 0; i < 3; ++i) {
    const auto got = ::recv(PQsocket(handle_.get()), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (!PQconsumeInput(handle_.get())) return false;
    PQisBusy(handle_.get());  // lets libpq look at what has come: settings, notices
  }
  return PQstatus(handle_.get()) == CONNECTION_OK;
}

async<Result<std::vector<PgNotification>>> PgConnection::notifications(milliseconds timeout) {
  std::vector<PgNotification> out;
  const FdWatcher::Event event = co_await watcher_.wait(FdWatcher::Interest::read, timeout);
  if (event == FdWatcher::Event::broken) co_return lost();
  if (event == FdWatcher::Event::ready && PQconsumeInput(handle_.get()) == 0) co_return lost();
  struct Free {
    void operator()(PGnotify* n) const { PQfreemem(n); }
  };
  while (const auto next = std::unique_ptr<PGnotify, Free>(PQnotifies(handle_.get())))
    out.push_back(PgNotification{next->relname, next->extra});
  co_return out;
}

void PgConnection::interrupt() { watcher_.interrupt(); }

}  // namespace drom::sql
