"""HTTP requests that a transaction keeps: the receiver is away while the transaction commits, the process is killed, and the
request arrives all the same. Argument: the program `drom`."""
import http.server
import os
import sqlite3
import sys
import threading
import unittest

from service import Service, data_folder, free_port

PROGRAM = ""
ROUTES = """
- beans:
    - name: db
      type: drom.sqlite
      properties:
        file: "{{data}}/shop.db"
        init: CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)
        outbox: sends
- route:
    from:
      uri: platform-http:/orders
      steps:
        - transacted:
            steps:
              - to: "sql:INSERT INTO orders (item) VALUES (:#${body})"
              - to: { uri: "http://127.0.0.1:{{target}}/in", pattern: InOnly }
        - setBody: { constant: stored }
"""


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bodies = []

    def do_POST(self):
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class KeptRequests(unittest.TestCase):
    def test_a_request_outlives_the_process_and_the_absence_of_its_receiver(self):
        folder = data_folder()
        self.addCleanup(folder.cleanup)
        file = os.path.join(folder.name, "routes.yaml")
        with open(file, "w") as out:
            out.write(ROUTES)
        target = free_port()
        command = [PROGRAM, "run", file, "-D", f"target={target}", "-D", "drom.http.host=127.0.0.1",
                   "-D", "drom.http.port={{port}}"]
        service = Service(command, folder.name)
        self.addCleanup(service.kill)
        self.assertEqual(service.request("POST", "/orders", "tea")[::2], (200, b"stored"))
        service.kill()
        db = sqlite3.connect(os.path.join(folder.name, "shop.db"), timeout=30)
        self.addCleanup(db.close)
        self.assertEqual(db.execute("SELECT type, payload, status FROM outbox_sends").fetchall(),
                         [(f"http://127.0.0.1:{target}/in", "tea", "due")])

        server = http.server.ThreadingHTTPServer(("127.0.0.1", target), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        service = Service(command, folder.name)
        self.addCleanup(service.kill)
        service.until(lambda: Receiver.bodies, "the request arrives")
        self.assertEqual(service.terminate(), 0)
        self.assertEqual(set(Receiver.bodies), {"tea"})
        self.assertEqual(db.execute("SELECT status FROM outbox_sends").fetchall(), [("sent",)])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
