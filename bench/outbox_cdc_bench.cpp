// CDC mode: how fast a relay drains a backlog of 200,000 rows from a replication slot, in the order
// of the keys, into a step that only counts, against a bare reader that walks over the same stream
// and counts. In transactions of 100 rows, and of one. Promise: 80 % of the bare reader.
#ifdef DROM_POSTGRES
#include <libpq-fe.h>

#include "bare/stores.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"

namespace drom::bench {
namespace {

constexpr const char* kBareSlot = "drom_bench_bare";
constexpr const char* kSlot = "drom_bench";

// The insert messages of pgoutput, column by column; nothing is kept.
class BareReader {
 public:
  explicit BareReader(const std::string& conninfo)
      : db_(PQconnectdb((conninfo + " replication=database").c_str())) {
    check(PQstatus(db_) == CONNECTION_OK, "connect", PQerrorMessage(db_));
    PGresult* started =
        PQexec(db_,
               "START_REPLICATION SLOT drom_bench_bare LOGICAL 0/0 (proto_version '1', "
               "publication_names 'drom_bench')");
    check(PQresultStatus(started) == PGRES_COPY_BOTH, "start", PQerrorMessage(db_));
    PQclear(started);
  }
  ~BareReader() { PQfinish(db_); }

  size_t read(size_t rows) {
    size_t seen = 0;
    while (seen < rows) {
      char* message = nullptr;
      const int size = PQgetCopyData(db_, &message, 0);
      check(size > 0, "read", PQerrorMessage(db_));
      if (size > 32 && message[0] == 'w' && message[25] == 'I') seen += walk(message + 31);
      PQfreemem(message);
    }
    return seen;
  }

 private:
  static size_t number(const char* at, int size) {
    size_t out = 0;
    for (int i = 0; i < size; ++i) out = out << 8 | static_cast<unsigned char>(at[i]);
    return out;
  }
  size_t walk(const char* at) {
    const size_t columns = number(at, 2);
    at += 2;
    for (size_t i = 0; i < columns; ++i) {
      const bool text = *at++ == 't';
      if (!text) continue;
      const size_t size = number(at, 4);
      bytes_ += size;
      at += 4 + size;
    }
    return 1;
  }
  PGconn* db_;
  size_t bytes_ = 0;
};

class Relay {
 public:
  explicit Relay(const StorePlace& place) {
    register_builtin(engine_.registry());
    Routes routes;
    routes.bean("db", place.bean_type, {{place.option, place.value}});
    routes.from("outbox:bench?mode=cdc&slot=drom_bench&publication=drom_bench")
        .process([this](Exchange&) { ++seen_; });
    engine_.add(routes.take());
    check(engine_.build(), "the route", engine_.diagnostics().render());
  }
  void drain(const std::function<bool(size_t)>& enough) {
    const Result<void> started = engine_.start_now();
    check(started.ok(), "start", started.ok() ? "" : started.error().what);
    engine_.drive_until([&] { return enough(seen_); }, std::chrono::minutes(10));
    engine_.stop_now();
  }
  size_t seen() const { return seen_; }

 private:
  Engine engine_;
  size_t seen_ = 0;
};

void fill(BareDatabase& db, size_t rows, size_t per_transaction) {
  db.script("SET synchronous_commit = off");
  db.script("DO $$ BEGIN FOR i IN 1.." + std::to_string(rows) +
            " LOOP INSERT INTO outbox_bench_log (key, type, payload) VALUES ('key' || i % 10000, "
            "'order.created', repeat('x', 200)); IF i % " +
            std::to_string(per_transaction) + " = 0 THEN COMMIT; END IF; END LOOP; END $$");
  db.script("CHECKPOINT");
}

bool bench(const StorePlace& place, size_t per_transaction) {
  const size_t rows = scaled(200'000) / per_transaction * per_transaction;
  const auto db = place.open();
  Race race;
  for (size_t round = 0; round < rounds(); ++round) {
    // The slot exists, the checkpoint knows where it stands, and the server need not read the log
    // of the round before once more: both readers begin at the same place.
    db->script("CREATE TABLE bench_place AS SELECT pg_current_wal_insert_lsn() AS lsn");
    Relay(place).drain([&](size_t) {
      db->script("CHECKPOINT");
      return db->number(
                 "SELECT count(*) FROM pg_replication_slots AS s, bench_place AS p WHERE "
                 "s.slot_name = 'drom_bench' AND s.confirmed_flush_lsn >= p.lsn AND "
                 "s.restart_lsn >= p.lsn") > 0;
    });
    db->script("DROP TABLE bench_place");
    db->script(std::string("SELECT pg_create_logical_replication_slot('") + kBareSlot +
               "', 'pgoutput')");
    fill(*db, rows, per_transaction);
    const auto bare = [&] {
      const auto start = std::chrono::steady_clock::now();
      {
        BareReader reader(place.value);
        check(reader.read(rows) == rows, "the bare reader has not seen all rows");
      }
      race.bare.push_back(static_cast<double>(rows) / seconds_since(start));
    };
    const auto engine = [&] {
      Relay relay(place);
      const auto start = std::chrono::steady_clock::now();
      double seconds = 0;
      relay.drain([&](size_t seen) {
        if (seen >= rows && seconds == 0) seconds = seconds_since(start);
        return seen >= rows;
      });
      check(relay.seen() == rows, "the relay has not delivered every row once");
      race.engine.push_back(static_cast<double>(rows) / seconds);
    };
    if (round % 2 == 0) bare();
    engine();
    if (round % 2 != 0) bare();
    while (db->number(std::string("SELECT count(*) FROM pg_replication_slots WHERE active AND "
                                  "slot_name = '") +
                      kBareSlot + "'") > 0) {
    }
    db->script(std::string("SELECT pg_drop_replication_slot('") + kBareSlot + "')");
  }
  return race.report("cdc, " + std::to_string(per_transaction) + " per transaction", "rows/s", 0.8);
}

void clean(const StorePlace& place) {
  place.open()->script(
      "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name LIKE "
      "'drom_bench%'; DROP PUBLICATION IF EXISTS drom_bench; DROP TABLE IF EXISTS outbox_bench, "
      "outbox_bench_log, outbox_bench_log_mark; DROP SEQUENCE IF EXISTS outbox_bench_log_slot");
}

void create_tables(const StorePlace& place) {
  const auto db = place.open();
  db->script(outbox::outbox_ddl(sql::Dialect::postgres, "outbox_bench"));
  db->script(outbox::log_ddl("outbox_bench"));
}

}  // namespace
}  // namespace drom::bench

int main() {
  const drom::bench::Stores stores;
  bool kept = true;
  for (const auto& place : stores.all()) {
    if (place.name != "PostgreSQL") continue;
    drom::bench::clean(place);
    drom::bench::create_tables(place);
    for (const size_t per_transaction : {100, 1})
      kept = drom::bench::bench(place, per_transaction) && kept;
    drom::bench::clean(place);
  }
  return kept ? 0 : 1;
}
#else
int main() { return 0; }
#endif
