"""The pages for health and metrics, as a probe and a scraper see them. Argument: the program `drom`."""
import http.client
import http.server
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from service import PATIENCE_S, free_port

PROGRAM = ""
ROUTES = """
- beans:
    - name: db
      type: drom.sqlite
      properties: { file: "{{data}}/shop.db" }
- route:
    id: relay
    from:
      uri: outbox:orders
      parameters: { lease: 300ms }
      steps:
        - to: http://127.0.0.1:{{target}}/in
- route:
    id: later
    autoStartup: false
    from:
      uri: timer:later
      steps:
        - log: later
"""
POLLING = """
- route:
    id: polling
    from:
      uri: sql:SELECT id FROM work
      parameters: { dataSource: db, delay: 100ms, initialDelay: 0 }
      steps:
        - log: ${body}
"""


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Management(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="drom-system-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.target = free_port()
        self.processes = []

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, *arguments, routes=ROUTES):
        """Starts `drom run` and reads from its log where it listens; no such line: self.port is 0."""
        file = self.write("routes.yaml", routes)
        self.log_path = os.path.join(self.folder, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "run", file, "-D", f"data={self.folder}", "-D", f"target={self.target}", *arguments],
                stdout=log, stderr=log, cwd=self.folder)
        self.addCleanup(self.end, self.process)

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def log(self):
        with open(self.log_path) as log:
            return log.read()

    def until(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            time.sleep(0.01)
        self.fail(f"never happened: {what}; log: {self.log()}")

    def listening(self):
        found = self.until(lambda: re.search(r"management listening on http://127\.0\.0\.1:(\d+)", self.log()),
                           "the server listens")
        self.port = int(found.group(1))

    def get(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read().decode()
        finally:
            connection.close()

    def check(self, path):
        status, kind, body = self.get(path)
        self.assertEqual(kind, "application/json")
        found = json.loads(body)
        self.assertEqual(found["status"], "UP" if status == 200 else "DOWN")
        self.assertIn(status, (200, 503))
        return status, {c["name"]: c for c in found["checks"]}

    def metric(self, series):
        for line in self.get("/metrics")[2].splitlines():
            if line.startswith(series + " "):
                return float(line.rpartition(" ")[2])
        return None

    def test_ready_means_that_rows_get_on(self):
        self.start("--management-port", "0")
        self.listening()
        self.until(lambda: self.check("/health/ready")[0] == 200, "ready")
        self.assertEqual(self.check("/health/startup")[0], 200)
        self.assertEqual(set(self.check("/health/ready")[1]), {"route:relay", "outbox:orders"})

        with sqlite3.connect(os.path.join(self.folder, "shop.db"), timeout=30) as db:
            db.execute("INSERT INTO outbox_orders (key, type, payload) VALUES ('a', 't', '{}')")
        db.close()
        self.until(lambda: self.check("/health/ready")[0] == 503, "not ready: the target is away")
        down = self.check("/health/ready")[1]
        self.assertEqual(down["route:relay"]["status"], "UP")
        self.assertIn("the target cannot be reached", down["outbox:orders"]["data"]["why"])
        self.assertEqual(self.check("/health/live")[0], 200)
        self.assertEqual(self.check("/health/startup")[0], 200)
        labels = '{outbox="outbox:orders",reads="table"}'
        self.assertEqual(self.metric("drom_ready"), 0)
        self.assertEqual(self.metric("drom_outbox_ready" + labels), 0)
        self.assertEqual(self.metric("drom_outbox_buckets_leased" + labels), 64)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.target), Answering)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        self.until(lambda: self.check("/health/ready")[0] == 200, "ready again")
        self.until(lambda: self.metric("drom_outbox_sent_total" + labels) == 1, "the row is counted as sent")
        self.assertEqual(self.metric('drom_route_completed_total{route="relay"}'), 1)
        self.assertEqual(self.metric("drom_ready"), 1)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(timeout=PATIENCE_S), 0)

    def test_the_pages_have_their_types_and_methods(self):
        self.start("--management-port", "0")
        self.listening()
        status, kind, body = self.get("/metrics")
        self.assertEqual((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertGreater(self.metric("process_resident_memory_bytes"), 1e6)
        self.assertLess(abs(self.metric("process_start_time_seconds") - time.time()), 600)
        self.assertIn('drom_route_started{route="later"} 0', body)
        for path in ("/observe/health", "/observe/health/ready", "/observe/health/live", "/observe/metrics", "/health"):
            self.assertIn(self.get(path)[0], (200, 503), path)
        self.assertEqual(self.get("/")[0], 404)
        self.assertEqual(self.get("/metrics", "POST")[0], 405)
        self.assertEqual(self.get("/health/live", "HEAD")[2], "")

    def test_a_source_that_does_not_work_is_told(self):
        self.write("application.properties", "camel.management.enabled=true\ncamel.management.port=0\n")
        self.start(routes=ROUTES + POLLING)
        self.listening()
        self.until(lambda: "no such table: work" in str(self.check("/health/ready")[1]["route:polling"]),
                   "the route says why")
        self.assertEqual(self.check("/health/ready")[0], 503)
        self.assertEqual(self.check("/health/live")[0], 200)
        with sqlite3.connect(os.path.join(self.folder, "shop.db"), timeout=30) as db:
            db.execute("CREATE TABLE work (id INTEGER PRIMARY KEY)")
        db.close()
        self.until(lambda: self.check("/health/ready")[0] == 200, "ready again")
        self.assertEqual(self.check("/health/startup")[0], 200)

    def test_without_being_asked_there_is_no_server(self):
        self.start()
        self.until(lambda: "outbox_orders" in self.tables(), "the relay has started")
        self.assertNotIn("listening", self.log())

    def tables(self):
        with sqlite3.connect(os.path.join(self.folder, "shop.db"), timeout=30) as db:
            found = [row[0] for row in db.execute("SELECT name FROM sqlite_master")]
        db.close()
        return found

    def test_a_port_in_use_ends_the_start(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.start("--management-port", str(taken.getsockname()[1]))
            self.assertEqual(self.process.wait(timeout=PATIENCE_S), 78)
        self.assertIn("drom.management.port", self.log())

    def test_a_wrong_property_is_an_error_of_the_file(self):
        self.start("-D", "drom.management.port=many")
        self.assertEqual(self.process.wait(timeout=PATIENCE_S), 78)
        self.assertIn("error[E0212] the property drom.management.port cannot be 'many'", self.log())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
