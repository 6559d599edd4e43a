#include "sql/inbox_janitor.hpp"

namespace drom {
namespace {

constexpr int64_t kChunk = 1000;
constexpr milliseconds kBetweenChunks{200};
constexpr milliseconds kBetweenRounds{60'000};

// By the database's clock, which has also written created_at.
std::string purge_statement(sql::Dialect dialect, const std::string& table) {
  if (dialect == sql::Dialect::mysql)  // it cannot read the table that it deletes from
    return "DELETE FROM " + table +
           " WHERE created_at < utc_timestamp(3) - INTERVAL ($1 * 1000) MICROSECOND"
           " ORDER BY created_at LIMIT " +
           std::to_string(kChunk);
  const std::string old =
      dialect == sql::Dialect::sqlite
          ? "created_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', (-$1 / 1000.0) || ' seconds')"
          : "created_at < now() - $1::float8 * interval '1 millisecond'";
  return "DELETE FROM " + table +
         " WHERE (consumer, message_id) IN (SELECT consumer, message_id FROM " + table + " WHERE " +
         old + " ORDER BY created_at LIMIT " + std::to_string(kChunk) + ")";
}

}  // namespace

InboxJanitor::InboxJanitor(sql::Database& database, Clock& clock, Log& log, std::string table,
                           milliseconds retention)
    : database_(database),
      clock_(clock),
      log_(log),
      table_(std::move(table)),
      retention_(retention),
      stopped_(clock_.make_alarm()) {}

void InboxJanitor::stop() {
  stopping_ = true;
  stopped_->ring();
}

async<> InboxJanitor::run() {
  bool down = false;
  while (!stopping_) {
    Result<bool> more = co_await purge();
    if (!more && !down)
      log_.warn("inbox", "old keys of " + table_ + " stay: " + more.error().message());
    down = !more;
    const bool at_once = more.ok() && *more;
    co_await stopped_->wait(at_once ? kBetweenChunks : kBetweenRounds);
  }
}

async<Result<bool>> InboxJanitor::purge() {
  List params;
  params.emplace_back(int64_t{retention_.count()});
  Result<sql::Rows> deleted =
      co_await database_.execute(purge_statement(database_.dialect(), table_), std::move(params));
  if (!deleted) co_return std::move(deleted.error());
  co_return deleted->affected == kChunk;
}

}  // namespace drom
