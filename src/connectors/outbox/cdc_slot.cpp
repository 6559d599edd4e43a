#include "connectors/outbox/cdc_slot.hpp"

#include <algorithm>

#include "connectors/outbox/outbox_log_sql.hpp"

namespace drom::outbox {
namespace {

constexpr size_t kNameMax = 63;

// Whatever is allowed in a slot's name, from any text.
std::string slot_text(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kNameMax)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    out += upper ? static_cast<char>(c - 'A' + 'a') : good ? c : '_';
  }
  return out;
}

bool flag(const Value& value) { return value.to_bool().value_or(false); }

constexpr const char* kServer =
    "SELECT current_setting('wal_level'), current_database(), pg_is_in_recovery(), "
    "EXISTS (SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolreplication OR rolsuper)) "
    "OR EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(oid, "
    "'member')), current_user::text, current_setting('server_version_num')::integer";

constexpr const char* kPublication =
    "SELECT p.pubinsert, p.pubviaroot, p.puballtables OR EXISTS (SELECT 1 FROM pg_publication_rel "
    "AS r WHERE r.prpubid = p.oid AND r.prrelid = to_regclass($2::text)) FROM pg_publication AS p "
    "WHERE p.pubname = $1::text";

}  // namespace

Result<void> check_cdc_server(const List& row) {
  if (row[0].raw() != "logical")
    return Error(
        ErrorKind::config,
        "mode=cdc needs wal_level=logical, and this server has wal_level=" + row[0].to_text(),
        "ALTER SYSTEM SET wal_level = logical and restart the server, or use mode=log, "
        "which needs neither");
  if (row[5].to_int().value_or(0) < 140'000)
    return Error(ErrorKind::config, "mode=cdc needs PostgreSQL 14 or later",
                 "use mode=log, which works from 13 on");
  if (flag(row[2]))
    return Error(ErrorKind::config, "mode=cdc needs the primary, and this server is a standby",
                 "connect to the primary (target_session_attrs=read-write)");
  if (!flag(row[3]))
    return Error(
        ErrorKind::config,
        "mode=cdc needs the right to replicate, which user " + row[4].to_text() + " does not have",
        "ALTER ROLE " + row[4].to_text() + " REPLICATION");
  return {};
}

std::string publication_name(std::string_view table) {
  return slot_text("drom_" + std::string(table));
}

Result<std::string> checked_slot(std::string_view name) {
  if (!name.empty() && name.size() <= kNameMax && slot_text(name) == name) return std::string(name);
  return Error(ErrorKind::config,
               "'" + std::string(name) + "' cannot name a replication slot or publication",
               "use lower-case letters, digits and underscores, at most 63");
}

std::string cdc_ddl(std::string_view table, std::string_view publication) {
  return "CREATE PUBLICATION " + std::string(publication) + " FOR TABLE " + log_table(table) +
         " WITH (publish = 'insert', publish_via_partition_root = true);\n";
}

std::string slot_ddl(std::string_view slot) {
  return "SELECT pg_create_logical_replication_slot('" + std::string(slot) + "', 'pgoutput');\n";
}

async<Result<void>> prepare_cdc(sql::Database& database, std::string table, std::string publication,
                                std::string* slot, bool create) {
  Result<sql::Rows> server = co_await database.execute(kServer, List());
  if (!server) co_return std::move(server.error());
  const List& facts = server->rows.at(0);
  if (Result<void> good = check_cdc_server(facts); !good) co_return good;
  if (slot->empty()) *slot = slot_text("drom_" + facts[1].to_text() + "_" + table);
  for (int attempt = 0;; ++attempt) {
    List params;
    params.push_back(publication);
    params.push_back(log_table(table));
    Result<sql::Rows> found = co_await database.execute(kPublication, std::move(params));
    if (!found) co_return std::move(found.error());
    if (!found->rows.empty()) {
      const List& row = found->rows[0];
      if (flag(row[0]) && flag(row[1]) && flag(row[2])) co_return Result<void>();
      co_return Error(
          ErrorKind::config,
          "publication " + publication + " does not tell what is inserted into " + log_table(table),
          "DROP PUBLICATION " + publication + "; " + cdc_ddl(table, publication));
    }
    if (!create || attempt > 0)
      co_return Error(ErrorKind::config, "publication " + publication + " does not exist",
                      cdc_ddl(table, publication));
    Result<void> created = co_await database.script(cdc_ddl(table, publication));
    // Another process may have been faster (duplicate_object).
    if (!created && created.error().type != "42710") {
      created.error().hint = "let an owner of the database run: " + cdc_ddl(table, publication);
      co_return created;
    }
  }
}

async<Result<std::optional<SlotState>>> slot_state(sql::Database& database, std::string slot) {
  using Out = Result<std::optional<SlotState>>;
  List params;
  params.push_back(std::move(slot));
  Result<sql::Rows> rows = co_await database.execute(
      "SELECT wal_status IS NOT DISTINCT FROM 'lost' OR restart_lsn IS NULL, plugin <> 'pgoutput' "
      "OR database <> current_database(), confirmed_flush_lsn::text, active_pid, "
      "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn)::bigint FROM pg_replication_slots "
      "WHERE slot_name = $1::text",
      std::move(params));
  if (!rows) co_return std::move(rows.error());
  if (rows->rows.empty()) co_return Out(std::nullopt);
  const List& row = rows->rows[0];
  SlotState out;
  out.lost = flag(row[0]);
  out.foreign = flag(row[1]);
  out.confirmed = sql::parse_lsn(row[2].to_text()).value_or(0);
  out.active_pid = row[3].to_int().value_or(0);
  out.lag = row[4].to_int().value_or(0);
  co_return Out(out);
}

async<Result<void>> create_slot(sql::Database& database, std::string slot) {
  List params;
  params.push_back(std::move(slot));
  Result<sql::Rows> made = co_await database.execute(
      "SELECT pg_create_logical_replication_slot($1::name, 'pgoutput')::text", std::move(params));
  if (!made) co_return std::move(made.error());
  co_return Result<void>();
}

async<Result<void>> require_slot(sql::Database& database, std::string slot) {
  Result<std::optional<SlotState>> found = co_await slot_state(database, slot);
  if (!found) co_return std::move(found.error());
  if (*found) co_return Result<void>();
  Result<void> made = co_await create_slot(database, std::move(slot));
  // Another process may have been faster (duplicate_object).
  if (!made && made.error().type == "42710") co_return Result<void>();
  co_return made;
}

}  // namespace drom::outbox
