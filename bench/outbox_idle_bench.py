#!/usr/bin/env python3
"""`drom run` with one relay, on each database: how much of a core it takes while the table is empty
(promise: below 1 %), and its largest memory while it works through a table of 10,000,000 due rows
(promise: below 40 MB, and no growth). SQLite is filled here; PostgreSQL and MariaDB are those that
DROM_TEST_POSTGRES and DROM_TEST_MARIADB name (the ten millions are on SQLite and PostgreSQL)."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SCALE = float(os.environ.get("DROM_BENCH_SCALE", "1"))
STORES = os.environ.get("DROM_BENCH_STORES", "sqlite postgresql mariadb").lower()
DUE = max(1000, int(10_000_000 * SCALE))
IDLE_SECONDS = max(3, 20 * SCALE)
WORK_SECONDS = max(3, 20 * SCALE)
PROGRAM = os.environ["DROM_PROGRAM"]

ROUTES = """- beans:
    - name: db
      type: {type}
      properties: {{ {option}: "{value}" }}
- route:
    from:
      uri: outbox:idle
      steps:
        - setBody: {{ constant: seen }}
"""


class Relay:
    """`drom run` of the route, its log in a file."""

    def __init__(self, folder, bean):
        self.routes = os.path.join(folder, "routes.yaml")
        self.log = os.path.join(folder, "log")
        with open(self.routes, "w") as file:
            file.write(ROUTES.format(**bean))

    def __enter__(self):
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([PROGRAM, "run", self.routes], stderr=log, stdout=log)
        time.sleep(2)  # the start is not what is measured
        if self.process.poll() is not None:
            with open(self.log) as log:
                sys.exit("drom has ended: " + log.read())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def ddl(dialect):
    return subprocess.run([PROGRAM, "outbox", "init", "--name", "idle", "--dialect", dialect],
                          check=True, capture_output=True, text=True).stdout


class Sqlite:
    name = "SQLite"

    def __init__(self, folder):
        self.file = os.path.join(folder, "idle.db")
        self.bean = {"type": "drom.sqlite", "option": "file", "value": self.file}

    def run(self, script):
        with sqlite3.connect(self.file) as db:
            return db.executescript(script)

    def clear(self):
        self.run("PRAGMA journal_mode = WAL; DROP TABLE IF EXISTS outbox_idle;" + ddl("sqlite"))

    def fill(self):
        self.run(f"""PRAGMA synchronous = OFF;
            INSERT INTO outbox_idle (event_id, key, payload) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
            SELECT i + 1 FROM n WHERE i < {DUE}) SELECT 'e' || i, 'k' || i % 10000, 'an event' FROM n;
            PRAGMA wal_checkpoint(TRUNCATE);""")

    def sent(self):
        with sqlite3.connect(self.file) as db:
            return db.execute("SELECT count(*) FROM outbox_idle WHERE status = 'sent'").fetchone()[0]


class Postgres:
    name = "PostgreSQL"

    def __init__(self, _):
        self.url = os.environ["DROM_TEST_POSTGRES"]
        self.bean = {"type": "drom.postgres", "option": "url", "value": self.url}

    def run(self, script):
        out = subprocess.run(["psql", "-qtA", "-v", "ON_ERROR_STOP=1", "-f", "-", self.url], input=script,
                             check=True, capture_output=True, text=True)
        return out.stdout.strip()

    def clear(self):
        self.run("DROP TABLE IF EXISTS outbox_idle;" + ddl("postgres"))

    def fill(self):
        # Without WAL and with its indexes made afterwards: what is measured is the relay.
        indexes = "".join(part + ";" for part in ddl("postgres").split(";") if "INDEX" in part)
        self.run(f"""ALTER TABLE outbox_idle SET UNLOGGED; DROP INDEX outbox_idle_due; DROP INDEX outbox_idle_wait;
            INSERT INTO outbox_idle (event_id, key, payload)
            SELECT 'e' || i, 'k' || i % 10000, 'an event' FROM generate_series(1, {DUE}) AS i;
            {indexes} VACUUM ANALYZE outbox_idle; CHECKPOINT;""")

    def sent(self):
        return int(self.run("SELECT count(*) FROM outbox_idle WHERE status = 'sent';"))


class Mariadb:
    name = "MariaDB"

    def __init__(self, _):
        url = os.environ["DROM_TEST_MARIADB"]
        self.bean = {"type": "drom.mysql", "option": "url", "value": url + "drom_bench"}
        self.port = url.rstrip("/").rsplit(":", 1)[1]

    def run(self, script):
        subprocess.run(["mariadb", "--no-defaults", "-h", "127.0.0.1", "-P", self.port, "-uroot"], input=script,
                       check=True, capture_output=True, text=True)

    def clear(self):
        self.run("CREATE DATABASE IF NOT EXISTS drom_bench; USE drom_bench; DROP TABLE IF EXISTS outbox_idle;" +
                 ddl("mysql"))


def idle(store, folder):
    store.clear()
    with Relay(folder, store.bean) as relay:
        before, start = relay.cpu_seconds(), time.monotonic()
        time.sleep(IDLE_SECONDS)
        share = (relay.cpu_seconds() - before) / (time.monotonic() - start) * 100
        rss = relay.rss_mb()
    kept = share < 1
    print(f"idle {store.name:10}: {share:.2f} % of a core (promise 1), RSS {rss:.1f} MB{'' if kept else '  MISSED'}",
          flush=True)
    return kept


def memory(store, folder):
    store.clear()
    store.fill()
    with Relay(folder, store.bean) as relay:
        samples = []
        start = time.monotonic()
        while time.monotonic() - start < WORK_SECONDS:
            samples.append(relay.rss_mb())
            time.sleep(0.1)
    sent = store.sent()
    half = len(samples) // 2
    first, second = max(samples[:half]), max(samples[half:])
    kept = max(first, second) < 40 and second < first + 2 and sent > 0
    print(f"memory {store.name:8}: {DUE} rows due, {sent} sent meanwhile: RSS at most {max(first, second):.1f} MB "
          f"(promise 40), first half {first:.1f}, second half {second:.1f}{'' if kept else '  MISSED'}", flush=True)
    store.clear()
    return kept


def main():
    folder = tempfile.mkdtemp(prefix="drom-idle-")
    kept = True
    try:
        stores = [Sqlite]
        if "DROM_TEST_POSTGRES" in os.environ:
            stores.append(Postgres)
        if "DROM_TEST_MARIADB" in os.environ:
            stores.append(Mariadb)
        for make in stores:
            if make.name.lower() not in STORES:
                continue
            store = make(folder)
            kept = idle(store, folder) and kept
            if hasattr(store, "fill"):
                kept = memory(store, folder) and kept
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
