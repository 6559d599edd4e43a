"""`drom outbox ...` as operators use it. Argument: the program `drom`. Every case works on an SQLite file of its own, on the
PostgreSQL server in DROM_TEST_POSTGRES and on a database of its own of the MariaDB server in DROM_TEST_MARIADB, when there are
such."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""


class Cli(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.url = os.path.join(self.folder.name, "shop.db")
        self.where = ["--name", "orders", "--url", self.url]

    drop_index = "DROP INDEX outbox_orders_due"
    quote = '"'

    def call(self, verb, *arguments, code=0, where=None, stdin=subprocess.DEVNULL):
        result = subprocess.run([PROGRAM, "outbox", verb, *arguments, *(self.where if where is None else where)],
                                capture_output=True, text=True, timeout=60, stdin=stdin)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result

    def sql(self, text, *parameters):
        with sqlite3.connect(self.url) as db:
            return db.execute(text, parameters).fetchall()

    def fill(self):
        self.call("init", "--apply")
        for key, state in (("a", "due"), ("a", "dead"), ("b", "parked"), ("b", "sent"), ("c", "due")):
            self.sql("INSERT INTO outbox_orders (key, type, payload, status, last_error, sent_at, next_attempt_at) "
                     "VALUES (?, 'order.created', '{}', ?, ?, ?, ?)", key, state,
                     "HTTP 500" if state == "dead" else None, "2026-01-01T00:00:00Z" if state == "sent" else None,
                     "9999-12-31T23:59:59.999Z" if state == "parked" else None)

    def states(self):
        return [row[0] for row in self.sql("SELECT status FROM outbox_orders ORDER BY id")]

    def test_status_counts_and_tells_who_works(self):
        self.fill()
        text = self.call("status").stdout
        self.assertRegex(text, r"(?m)^due +2 +oldest ")
        self.assertRegex(text, r"(?m)^dead +1$")
        self.assertIn("no relay holds a lease", text)
        found = json.loads(self.call("status", "--json").stdout)
        self.assertEqual([found[s] for s in ("due", "waiting", "sent", "dead", "parked")], [2, 0, 1, 1, 1])
        self.assertEqual(sum(bucket["due"] for bucket in found["buckets"]), 2)
        self.assertEqual(found["relays"], [])
        self.assertIsNone(found["open_transaction"])

    def test_watch_shows_again_and_again(self):
        self.fill()
        lines = self.call("status", "--json", "--watch", "0.1", "--times", "3").stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.call("status", "--watch", "--times", "1")

    def test_list_selects(self):
        self.fill()
        text = self.call("list").stdout
        self.assertRegex(text.splitlines()[0], r"^ID +STATE +TYPE +KEY +ATTEMPTS +AGE +LAST ERROR$")
        self.assertEqual(len(text.splitlines()), 5)
        rows = lambda *arguments: [json.loads(line)["id"] for line in
                                   self.call("list", "--json", *arguments).stdout.splitlines()]
        self.assertEqual(rows("--state", "dead"), [2])
        self.assertEqual(rows("--key", "a"), [1, 2])
        self.assertEqual(rows("--type", "other"), [])
        self.assertEqual(rows("--state", "sent"), [4])
        self.assertEqual(rows("--older-than", "1h"), [])
        self.assertEqual(rows("3", "4"), [3, 4])
        self.assertEqual(rows("--limit", "1"), [1])

    def test_show_has_the_payload(self):
        self.fill()
        row = json.loads(self.call("show", "2").stdout)
        self.assertEqual((row["payload"], row["last_error"]), ("{}", "HTTP 500"))
        self.assertIn("there is no row 99", self.call("show", "99", code=1).stderr)

    def test_retry_says_how_many_and_why_not(self):
        self.fill()
        self.assertEqual(self.call("retry", "2").stdout, "1 row will be tried again\n")
        result = self.call("retry", "2", "4", "99", code=1)
        self.assertIn("row 2 is due; retry takes rows that are dead, parked or waiting", result.stderr)
        self.assertIn("row 4 is sent", result.stderr)
        self.assertIn("there is no row 99", result.stderr)
        self.assertEqual(self.call("retry", "--state", "parked").stdout, "1 row will be tried again\n")
        self.assertEqual(self.call("retry", "--dead").stdout, "0 rows will be tried again\n")
        self.assertEqual(self.states(), ["due", "due", "due", "sent", "due"])

    def test_park_and_unpark(self):
        self.fill()
        self.assertEqual(self.call("park", "--key", "a").stdout, "2 rows parked\n")
        self.assertEqual(self.states()[:3], ["parked"] * 3)
        self.assertEqual(json.loads(self.call("unpark", "1", "--json").stdout), {"rows": 1, "refused": []})
        self.assertEqual(self.call("unpark", "--state", "parked").stdout, "2 rows will be tried again\n")
        self.assertEqual(self.states(), ["due", "due", "due", "sent", "due"])

    def test_discard_never_touches_sent_rows(self):
        self.fill()
        self.assertEqual(self.call("discard", "1", "2").stdout, "2 rows deleted\n")
        self.assertIn("row 4 is sent", self.call("discard", "4", code=1).stderr)
        self.assertEqual(self.states(), ["parked", "sent", "due"])

    def test_a_terminal_is_asked_for_yes(self):
        self.fill()
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        self.assertIn("add --yes", self.call("discard", "1", code=64, stdin=theirs).stderr)
        self.assertIn("add --yes", self.call("purge", "--state", "dead", code=64, stdin=theirs).stderr)
        self.assertEqual(len(self.states()), 5)
        self.call("purge", "--state", "dead", "--yes", stdin=theirs)
        self.call("purge", stdin=theirs)
        self.assertEqual(self.states(), ["due", "parked", "due"])

    def test_purge_deletes_what_is_old_enough(self):
        self.fill()
        self.sql("INSERT INTO outbox_orders (status, sent_at) VALUES ('sent', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))")
        self.assertEqual(self.call("purge", "--older-than", "1d").stdout, "1 sent row deleted\n")
        self.assertIn("purge takes rows that are sent or dead", self.call("purge", "--state", "due", code=64).stderr)
        self.assertEqual(self.states(), ["due", "dead", "parked", "due", "sent"])

    def test_a_large_purge_goes_in_chunks(self):
        self.call("init", "--apply")
        self.sql("INSERT INTO outbox_orders (status, sent_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                 "FROM n WHERE i < 12000) SELECT 'sent', '2026-01-01T00:00:00Z' FROM n")
        self.sql("INSERT INTO outbox_orders (payload) VALUES ('keep')")
        self.assertEqual(self.call("purge").stdout, "12000 sent rows deleted\n")
        self.assertEqual(self.states(), ["due"])

    def test_verify_finds_what_is_wrong(self):
        self.fill()
        self.call("discard", "1", "2", "3", "5")
        self.assertRegex(self.call("verify").stdout, r"(?m)^ok +lag +nothing is due$")
        self.sql("INSERT INTO outbox_orders (created_at) VALUES ('2026-01-01T00:00:00Z')")
        self.sql("INSERT INTO drom_lease VALUES ('outbox_orders', 3, 'gone', 1, '2026-01-01T00:00:00Z')")
        self.sql(self.drop_index)
        text = self.call("verify", code=1).stdout
        self.assertIn("the index of due rows is missing", text)
        self.assertIn("relay gone holds 1 bucket by a lease that ran out", text)
        self.assertIn("1 row is due and no relay", text)
        self.assertIn("-> start `drom run`", text)
        self.assertRegex(text, r"error +lag +the oldest due row is \d+d")
        levels = [json.loads(line)["level"] for line in self.call("verify", "--json", code=1).stdout.splitlines()]
        self.assertIn("error", levels)

    def test_verify_names_missing_columns(self):
        self.fill()
        self.sql("ALTER TABLE outbox_orders RENAME COLUMN headers TO meta")
        self.assertIn(f"ADD COLUMN {self.quote}headers{self.quote}", self.call("verify", code=1).stdout)
        self.assertIn("no column headers", self.call("status", code=1).stderr)

    def test_mistakes_are_explained(self):
        self.fill()
        self.assertIn("did you mean 'dead'?", self.call("list", "--state", "daed", code=64).stderr)
        self.assertIn("did you mean 'status'?", self.call("staus", code=64).stderr)
        self.assertIn("'x1' is no row id", self.call("retry", "x1", code=64).stderr)
        self.assertIn("say which rows", self.call("retry", code=64).stderr)
        self.assertIn("not sent", self.call("retry", "--state", "sent", code=64).stderr)
        self.assertIn("is no duration", self.call("purge", "--older-than", "soon", code=64).stderr)
        self.assertIn("does not exist", self.call("status", where=["--name", "other", "--url", self.url], code=1).stderr)
        self.call("status", where=["--name", "orders", "--url", self.url + "x"], code=66)
        self.call("status", where=["--url", self.url], code=64)
        self.call("status", where=["--uri", "kafka:orders", "--url", self.url], code=64)

    def test_help_has_examples(self):
        for verb in ("init", "status", "list", "show", "retry", "discard", "park", "unpark", "purge", "verify"):
            with self.subTest(verb=verb):
                text = self.call(verb, "--help", where=[]).stdout
                self.assertRegex(text, r"Examples:\n  drom outbox " + verb)

    def test_a_table_of_others_by_its_uri(self):
        self.sql("CREATE TABLE OutboxMessages (Id INTEGER PRIMARY KEY, EventType TEXT, Payload TEXT, CreatedAt TEXT "
                 "DEFAULT CURRENT_TIMESTAMP, ProcessedAt TEXT)")
        for processed in (None, None, "2026-01-01 00:00:00"):
            self.sql("INSERT INTO OutboxMessages (EventType, Payload, ProcessedAt) VALUES ('T', 'p', ?)", processed)
        self.where = ["--url", self.url, "--uri", "outbox:x?format=mapped&table=OutboxMessages&idColumn=Id&"
                      "typeColumn=EventType&payloadColumn=Payload&createdColumn=CreatedAt&sentColumn=ProcessedAt"]
        self.assertIn("drom_lease does not exist", self.call("status", code=1).stderr)
        self.assertIn("CREATE TABLE IF NOT EXISTS drom_trouble", self.call("init").stdout)
        self.call("init", "--apply")
        found = json.loads(self.call("status", "--json").stdout)
        self.assertEqual((found["due"], found["sent"]), (2, 1))
        self.assertEqual(self.call("park", "1").stdout, "1 row parked\n")
        self.assertRegex(self.call("list").stdout, r"(?m)^1 +parked +T ")
        self.assertEqual(self.call("unpark", "1").stdout, "1 row will be tried again\n")
        self.assertEqual(self.call("park", "--state", "due").stdout, "2 rows parked\n")
        self.assertEqual(self.call("discard", "2").stdout, "1 row deleted\n")
        self.assertEqual(self.sql("SELECT row_id FROM drom_trouble"), [(1,)])
        self.assertEqual(self.call("purge", "--older-than", "1d").stdout, "1 sent row deleted\n")
        self.assertIn("parked", self.call("verify", code=1).stdout)
        self.assertEqual(self.sql("SELECT Id FROM OutboxMessages"), [(1,)])


class PostgresCli(Cli):
    """The same on PostgreSQL, by psql."""

    def setUp(self):
        conninfo = os.environ.get("DROM_TEST_POSTGRES")
        if not conninfo:
            if os.environ.get("DROM_CI"):
                self.fail("DROM_TEST_POSTGRES is not set")
            self.skipTest("DROM_TEST_POSTGRES is not set")
        self.conninfo = conninfo
        self.url = conninfo
        self.where = ["--name", "orders", "--url", self.url]
        self.drop()
        self.addCleanup(self.drop)

    def drop(self):
        self.psql('DROP TABLE IF EXISTS outbox_orders, outbox_other, "OutboxMessages", drom_lease, drom_trouble, '
                  'outbox_orders_log, outbox_orders_log_mark; DROP SEQUENCE IF EXISTS outbox_orders_log_slot')

    def psql(self, text):
        ran = subprocess.run(["psql", "-qAtX", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-d", self.conninfo, "-c", text],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [tuple(int(cell) if cell.isdigit() else cell for cell in line.split("\x1f"))
                for line in ran.stdout.splitlines()]

    def test_log_mode_has_tables_and_a_status_of_its_own(self):
        text = self.call("init", "--mode", "log").stdout
        self.psql(text)
        self.call("init", "--mode", "log", "--apply")  # they exist already
        for key in "aab":
            self.psql(f"INSERT INTO outbox_orders_log (key, type, payload) VALUES ('{key}', 'order.created', '{{}}')")
        shown = self.call("status").stdout
        self.assertRegex(shown, r"(?m)^in the log +3 +oldest ")
        self.assertRegex(shown, r"(?m)^due +0$")
        self.assertIn("no relay reads the log", shown)
        log = json.loads(self.call("status", "--json").stdout)["log"]
        self.assertEqual((log["due"], log["relay"]), (3, None))
        self.assertGreater(log["bytes"], 0)

    def test_log_mode_is_refused_for_other_databases(self):
        where = ["--name", "orders", "--url", "some.db"]
        for mode in "log", "cdc":
            refused = self.call("init", "--mode", mode, where=where, code=64).stderr
            self.assertIn(f"{mode} mode needs PostgreSQL", refused)

    def test_cdc_mode_has_a_publication_and_a_slot(self):
        self.assertIn("CREATE PUBLICATION drom_outbox_orders FOR TABLE outbox_orders_log",
                      self.call("init", "--mode", "cdc").stdout)
        for _ in "once", "again":
            self.call("init", "--mode", "cdc", "--apply")
        slots = self.psql("SELECT slot_name FROM pg_replication_slots WHERE slot_name LIKE 'drom%outbox_orders'")
        self.assertEqual(len(slots), 1)
        self.psql(f"SELECT pg_drop_replication_slot('{slots[0][0]}')")
        self.psql("DROP PUBLICATION drom_outbox_orders")

    def sql(self, text, *parameters):
        for value in parameters:
            text = text.replace("?", "NULL" if value is None else f"'{value}'", 1)
        for ours, theirs in ((r"9999-12-31T23:59:59.999Z", "infinity"),
                             (r"strftime\([^)]*\)", "now()"), ("WITH RECURSIVE n.*SELECT 'sent'", "SELECT 'sent'"),
                             ("'2026-01-01T00:00:00Z' FROM n", "'2026-01-01T00:00:00Z' FROM generate_series(1, 12000)"),
                             ("Id INTEGER PRIMARY KEY", "Id bigserial PRIMARY KEY"),
                             ("TEXT DEFAULT CURRENT_TIMESTAMP", "timestamp DEFAULT now()"),
                             ("ProcessedAt TEXT", "ProcessedAt timestamp")):
            text = re.sub(ours, theirs, text)
        if "OutboxMessages" in text:
            text = re.sub(r"\b(OutboxMessages|Id|EventType|Payload|CreatedAt|ProcessedAt)\b", r'"\1"', text)
        return self.psql(text)

    def test_mistakes_are_explained(self):
        self.fill()
        where = ["--name", "other", "--url", self.url]
        self.assertIn("does not exist", self.call("status", where=where, code=1).stderr)

    def test_an_open_transaction_is_named(self):
        self.call("init", "--apply")
        psql = subprocess.Popen(["psql", "-qAtX", "-d", self.conninfo], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
        try:
            psql.stdin.write("BEGIN; CREATE TEMP TABLE held (x int); SELECT pg_backend_pid(); "
                             "SELECT pg_sleep(1.2);\n")
            psql.stdin.flush()
            pid = int(psql.stdout.readline())
            psql.stdout.readline()
            found = json.loads(self.call("status", "--json").stdout)
            self.assertEqual(found["open_transaction"]["pid"], pid)
            text = self.call("verify", "--max-transaction", "1s", code=1).stdout
            self.assertIn(f"process {pid} has had a transaction open", text)
            self.assertIn(f"pg_terminate_backend({pid})", text)
        finally:
            psql.communicate()


class MariadbCli(Cli):
    """The same on MariaDB, by its client."""

    drop_index = "ALTER TABLE outbox_orders DROP INDEX outbox_orders_due"
    quote = "`"

    def setUp(self):
        server = os.environ.get("DROM_TEST_MARIADB")
        if not server:
            if os.environ.get("DROM_CI"):
                self.fail("DROM_TEST_MARIADB is not set")
            self.skipTest("DROM_TEST_MARIADB is not set")
        self.port = re.search(r":(\d+)/", server)[1]
        self.url = server + "drom_cli"
        self.where = ["--name", "orders", "--url", self.url]
        self.client("CREATE OR REPLACE DATABASE drom_cli CHARACTER SET utf8mb4", database=None)
        self.addCleanup(self.client, "DROP DATABASE drom_cli", database=None)

    def client(self, text, database="drom_cli"):
        ran = subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", "-P", self.port, "-uroot", "--skip-ssl", "-NB",
                              *([database] if database else []), "-e", "SET time_zone = '+00:00'; " + text],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return [tuple(int(cell) if cell.isdigit() else cell for cell in line.split("\t"))
                for line in ran.stdout.splitlines()]

    def sql(self, text, *parameters):
        for value in parameters:
            text = text.replace("?", "NULL" if value is None else f"'{value}'", 1)
        for ours, theirs in ((r"strftime\([^)]*\)", "utc_timestamp(3)"), (r"\bkey\b", "`key`"),
                             ("WITH RECURSIVE n.*SELECT 'sent'", "SELECT 'sent'"),
                             ("'2026-01-01T00:00:00Z' FROM n", "'2026-01-01T00:00:00Z' FROM seq_1_to_12000"),
                             (r"(\d\d)T(\d\d:\d\d:\d\d(\.\d+)?)Z", r"\1 \2"),
                             ("Id INTEGER PRIMARY KEY", "Id bigint AUTO_INCREMENT PRIMARY KEY"),
                             ("TEXT DEFAULT CURRENT_TIMESTAMP", "datetime(3) DEFAULT CURRENT_TIMESTAMP(3)"),
                             ("ProcessedAt TEXT", "ProcessedAt datetime(3)")):
            text = re.sub(ours, theirs, text)
        return self.client(text)

    def test_mistakes_are_explained(self):
        self.fill()
        where = ["--name", "other", "--url", self.url]
        self.assertIn("does not exist", self.call("status", where=where, code=1).stderr)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
