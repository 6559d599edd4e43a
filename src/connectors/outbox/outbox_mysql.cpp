#include "connectors/outbox/outbox_mysql.hpp"

#include "machines/bucket_lease.hpp"

namespace drom::outbox {
namespace {

constexpr auto kMysql = sql::Dialect::mysql;

// No partial indexes here: (status, id) gives the due rows in order, and `waiting_key` is null, and
// so costs nothing to look past, for all rows that hold up nobody. A generated column cannot refer
// to an AUTO_INCREMENT one, so rows without a key spread by their event id. created_at and
// available_at are TIMESTAMPs because other programs write them in the time zone of their session.
constexpr std::string_view kDdl = R"(CREATE TABLE IF NOT EXISTS {table} (
  id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  event_id varchar(255) NOT NULL DEFAULT (uuid()),
  `key` varchar(512),
  type varchar(255),
  payload longtext,
  payload_bytes longblob,
  headers longtext,
  created_at timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  available_at timestamp(3) NULL DEFAULT NULL,
  bucket int GENERATED ALWAYS AS (
    crc32(if(coalesce(length(`key`), 0) = 0, event_id, `key`)) & 63) VIRTUAL,
  status varchar(8) NOT NULL DEFAULT 'due' CHECK (status IN ('due', 'sent', 'dead', 'parked')),
  attempts int NOT NULL DEFAULT 0,
  next_attempt_at datetime(3),
  last_error text,
  sent_at datetime(3),
  waiting_key varchar(512) GENERATED ALWAYS AS (if(next_attempt_at IS NULL, NULL, `key`)) VIRTUAL,
  INDEX {index}_due (status, id),
  INDEX {index}_wait (waiting_key, id)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
)";

constexpr std::string_view kLease = R"(CREATE TABLE IF NOT EXISTS drom_lease (
  resource varchar(250) NOT NULL,
  bucket int NOT NULL,
  owner varchar(100) NOT NULL,
  token bigint NOT NULL,
  expires_at datetime(3) NOT NULL,
  PRIMARY KEY (resource, bucket)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
)";

std::string read_statement(const std::string& table, bool some) {
  return fill(R"(SELECT t.id, t.bucket, t.event_id, t.key, t.type, t.payload, t.payload_bytes,
  t.headers, t.attempts, t.created_at
FROM {table} AS t
WHERE t.status = 'due'{buckets}
  AND (t.next_attempt_at IS NULL OR {next_past})
  AND (t.available_at IS NULL OR {available_past})
  AND NOT {busy_ids} AND coalesce(t.key, '') NOT IN {busy_keys}
  AND NOT EXISTS (SELECT 1 FROM {table} AS w
    WHERE w.waiting_key = t.key AND w.waiting_key <> '' AND w.id < t.id AND NOT {blocker_past})
ORDER BY t.id LIMIT $3)",
              {{"table", table},
               {"buckets", some ? " AND " + in_ids(kMysql, "t.bucket", "$4") : ""},
               {"next_past", is_past(kMysql, "t.next_attempt_at")},
               {"available_past", is_past(kMysql, "t.available_at")},
               {"blocker_past", is_past(kMysql, "w.next_attempt_at")},
               {"busy_ids", in_ids(kMysql, "t.id", "$1")},
               {"busy_keys", in_texts(kMysql, "$2")}});
}

// The rows by their ids first, each with its lease, which is read with a lock. As a subquery the
// ids would cost a look at the whole table.
std::string marks_with_leases(const std::string& table, std::string_view marks,
                              std::string_view token) {
  return fill(
      "{marks} STRAIGHT_JOIN {table} AS t ON t.id = m.id STRAIGHT_JOIN drom_lease AS l "
      "ON l.resource = $2 AND l.bucket = t.bucket AND l.owner = $3 AND l.token = {token}",
      {{"marks", std::string(marks)}, {"table", table}, {"token", std::string(token)}});
}

std::string mark_sent_statement(const std::string& table, SentPolicy sent) {
  const std::string rows =
      marks_with_leases(table, "JSON_TABLE($1, '$[*]' COLUMNS (id bigint PATH '$')) AS m", "$4");
  if (sent == SentPolicy::remove) return "DELETE t FROM " + rows + " WHERE t.status = 'due'";
  return "UPDATE " + rows + " SET t.status = 'sent', t.sent_at = " + time_now(kMysql) +
         ", t.next_attempt_at = NULL WHERE t.status = 'due'";
}

std::string mark_failed_statement(const std::string& table) {
  const std::string rows = marks_with_leases(
      table,
      "JSON_TABLE($1, '$[*]' COLUMNS (id bigint PATH '$.id', token bigint PATH '$.token', "
      "status varchar(8) CHARACTER SET utf8mb4 PATH '$.status', attempts int PATH '$.attempts', "
      "delay bigint PATH '$.delay', error text CHARACTER SET utf8mb4 PATH '$.error')) AS m",
      "m.token");
  return "UPDATE " + rows +
         " SET t.status = m.status, t.attempts = m.attempts, t.last_error = m.error, "
         "t.next_attempt_at = CASE m.status WHEN 'due' THEN " +
         time_after(kMysql, "m.delay") + " WHEN 'parked' THEN " + time_never(kMysql) +
         " END WHERE t.status = 'due'";
}

std::string all_buckets() {
  std::string out;
  for (int b = 0; b < kLeaseBuckets; ++b) out += (b ? "," : "") + std::to_string(b);
  return "'[" + out + "]'";
}

void add_lease_statements(Statements& out) {
  const std::string mine = " WHERE resource = $1 AND owner = $2";
  const std::string expires = time_after(kMysql, "$3");
  const std::string now = time_now(kMysql);
  out.heartbeat =
      "INSERT INTO drom_lease (resource, bucket, owner, token, expires_at) VALUES (concat($1, '@', "
      "$2), -1, $2, 0, " +
      expires + ") ON DUPLICATE KEY UPDATE expires_at = " + expires;
  out.renew = "UPDATE drom_lease SET expires_at = " + expires + mine;
  out.seed =
      "INSERT IGNORE INTO drom_lease (resource, bucket, owner, token, expires_at) SELECT "
      "$1, j.b, '', 0, '2000-01-01' FROM JSON_TABLE(" +
      all_buckets() +
      ", '$[*]' COLUMNS (b int PATH '$')) AS j WHERE (SELECT count(*) FROM drom_lease AS x "
      "WHERE x.resource = $1 AND x.bucket >= 0) < " +
      std::to_string(kLeaseBuckets);
  // Who waited for another's claim looks at the row again and finds it taken.
  out.claim =
      "UPDATE drom_lease SET token = greatest(token + 1, (SELECT m.n FROM (SELECT "
      "coalesce(max(x.token), 0) + 1 AS n FROM drom_lease AS x WHERE x.resource = $1) AS m)), "
      "owner = $2, expires_at = " +
      expires + " WHERE resource = $1 AND bucket >= 0 AND owner <> $2 AND (" +
      is_past(kMysql, "expires_at") + " OR $5 = 1) ORDER BY bucket LIMIT $4";
  out.held = "SELECT bucket, token FROM drom_lease" + mine + " AND bucket >= 0 AND NOT " +
             is_past(kMysql, "expires_at");
  out.count_relays =
      "SELECT count(*) FROM drom_lease WHERE bucket = -1 AND left(resource, char_length($1) + 1) = "
      "concat($1, '@') AND NOT " +
      is_past(kMysql, "expires_at");
  out.forget_relays =
      "DELETE FROM drom_lease WHERE bucket = -1 AND " + is_past(kMysql, "expires_at");
  out.give_back_all = "UPDATE drom_lease SET owner = '', expires_at = " + now + mine;
  out.give_back = out.give_back_all + " AND " + in_ids(kMysql, "bucket", "$3");
  out.leave = "DELETE FROM drom_lease WHERE bucket = -1 AND resource = concat($1, '@', $2)";
}

}  // namespace

std::string mysql_outbox_ddl(std::string_view table) {
  return fill(std::string(kDdl), {{"table", std::string(table)},
                                  {"index", std::string(table.substr(table.rfind('.') + 1))}}) +
         mysql_lease_ddl();
}

std::string mysql_lease_ddl() { return std::string(kLease); }

Statements make_mysql_statements(const std::string& table, SentPolicy sent) {
  Statements out;
  out.exists =
      "SELECT 1 FROM information_schema.tables WHERE (table_schema = database() AND table_name = "
      "$1) OR concat(table_schema, '.', table_name) = $1";
  out.insert = "INSERT INTO " + table +
               " (event_id, `key`, type, payload, payload_bytes, headers, available_at) VALUES "
               "(coalesce($1, uuid()), $2, $3, $4, $5, $6, " +
               time_after(kMysql, "$7") + ")";
  out.read_all = read_statement(table, false);
  out.read_some = read_statement(table, true);
  out.mark_sent = mark_sent_statement(table, sent);
  out.mark_failed = mark_failed_statement(table);
  // The oldest rows come first, so a bounded look at the front finds what is too old.
  out.purge = "DELETE t FROM " + table + " AS t JOIN (SELECT s.id FROM (SELECT id, sent_at FROM " +
              table +
              " WHERE status = 'sent' ORDER BY id LIMIT $1) AS s WHERE s.sent_at < "
              "utc_timestamp(3) - INTERVAL ($2 * 1000) MICROSECOND) AS o ON o.id = t.id";
  add_lease_statements(out);
  return out;
}

}  // namespace drom::outbox
