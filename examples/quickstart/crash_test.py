#!/usr/bin/env python3
"""Kills the quickstart with SIGKILL again and again while orders come in, and counts afterwards.

    crash_test.py [--kills N] [--seed N] -- COMMAND...

COMMAND is started with `-D port=N -D data=DIR` added. At the end every order that was answered with 201
must be there, and orders, shipments and inbox rows must be equal in number: nothing lost, nothing
invented, nothing twice.
"""
import argparse
import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

POSTERS = 3
PATIENCE_S = 120  # for a start or for the last drain; far above what they need


class Service:
    """The process under test on one port and one data folder."""

    def __init__(self, command, port, data, log):
        self.command = command + ["-D", f"port={port}", "-D", f"data={data}"]
        self.port = port
        self.log = log
        self.process = None

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"FAILED: the service ended by itself, exit code {self.process.returncode}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.002)
        raise SystemExit("FAILED: the service does not listen")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)


def request(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class Poster(threading.Thread):
    """Posts numbered orders until told to stop, and keeps what was answered with 201."""

    def __init__(self, number, port, stop):
        super().__init__(daemon=True)
        self.number, self.port, self.stop = number, port, stop
        self.accepted = {}
        self.sent = 0
        self.surprises = []

    def run(self):
        while not self.stop.is_set():
            self.sent += 1
            customer = f"c{self.number}-{self.sent}"
            order = json.dumps({"customer": customer, "item": f"item {self.sent}"})
            try:
                status, body = request(self.port, "POST", "/orders", order, {"Content-Type": "application/json"})
            except (OSError, http.client.HTTPException):
                time.sleep(0.005)  # the service is down; whether this order was stored is unknown
                continue
            if status == 201:
                self.accepted[json.loads(body)["id"]] = customer
            elif status != 503:
                self.surprises.append((status, body[:200]))


def free_port():
    """Below the ports of outgoing connections: a service that is restarted finds it free again."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def wait_for_drain(port):
    deadline = time.monotonic() + PATIENCE_S
    stats = None
    while time.monotonic() < deadline:
        status, body = request(port, "GET", "/stats")
        if status != 200:
            raise SystemExit(f"FAILED: GET /stats answered {status}: {body[:300]!r}")
        stats = json.loads(body)
        if stats["outbox_unsent"] == 0:
            return stats
        time.sleep(0.05)
    raise SystemExit(f"FAILED: the outbox is not drained: {stats}")


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")


def check_database(path, accepted):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    one = lambda sql: db.execute(sql).fetchone()[0]
    orders = dict(db.execute("SELECT id, customer FROM orders"))
    shipped = [row[0] for row in db.execute("SELECT order_id FROM shipments")]
    inbox = one("SELECT count(*) FROM drom_inbox")
    events = [int(row[0]) for row in db.execute("SELECT key FROM outbox_orders")]
    lost = [i for i, customer in accepted.items() if orders.get(i) != customer]
    check(not lost, f"{len(lost)} orders answered with 201 are missing or wrong, such as {lost[:5]}")
    check(len(set(orders.values())) == len(orders), "an order was stored twice")
    check(len(shipped) == len(set(shipped)), "an order was shipped twice")
    check(set(shipped) == set(orders), f"{len(orders)} orders, {len(shipped)} shipments")
    check(inbox == len(orders), f"{len(orders)} orders, {inbox} inbox rows")
    check(set(events) <= set(orders), "an event without an order")
    check(one("PRAGMA integrity_check") == "ok", "the database is damaged")
    return len(orders)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng = random.Random(seed)
    print(f"seed {seed}", flush=True)

    with tempfile.TemporaryDirectory(prefix="drom-crash-") as data:
        with open(os.path.join(data, "service.log"), "w+") as log:
            service = Service(options.command, free_port(), data, log)
            stop = threading.Event()
            posters = [Poster(i, service.port, stop) for i in range(POSTERS)]
            try:
                service.start()
                for poster in posters:
                    poster.start()
                for _ in range(options.kills):
                    time.sleep(rng.uniform(0.0, 0.12))
                    service.kill()
                    service.start()
                stop.set()
                for poster in posters:
                    poster.join()
                stats = wait_for_drain(service.port)
                code = service.terminate()
                check(code == 0, f"SIGTERM ended with exit code {code}")
                accepted = {i: c for poster in posters for i, c in poster.accepted.items()}
                surprises = [s for poster in posters for s in poster.surprises]
                check(not surprises, f"unexpected answers: {surprises[:3]}")
                check(len(accepted) > 0, "no order was accepted at all")
                orders = check_database(os.path.join(data, "shop.db"), accepted)
                check(stats["orders"] == stats["shipments"] == stats["inbox"] == orders, f"/stats says {stats}")
            except BaseException:
                stop.set()
                if service.process and service.process.poll() is None:
                    service.kill()
                log.flush()
                log.seek(0)
                sys.stderr.write("".join(log.readlines()[-40:]))
                raise
    sent = sum(poster.sent for poster in posters)
    print(f"OK: {options.kills} kills, {sent} posted, {len(accepted)} answered 201, {orders} orders = shipments = inbox")


if __name__ == "__main__":
    main()
