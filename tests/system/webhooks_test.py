"""examples/webhooks as its users meet it: payments in, signed webhooks out, through a subscriber that fails, asks for
patience, and stays away while the process is killed. Argument: the program `drom`."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import unittest

from service import Service, data_folder, free_port

PROGRAM = ""
EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "webhooks", "webhooks.yaml")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
JSON = {"Content-Type": "application/json"}


class Subscriber:
    """Answers with the statuses of `plan`, then with 204; keeps what came."""

    def __init__(self, port, plan=()):
        self.requests = []
        self.plan = list(plan)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = outer.plan.pop(0) if outer.plan else 204
                outer.requests.append((status, dict(self.headers.items()), body))
                self.send_response(status)
                if status == 429:
                    self.send_header("Retry-After", "1")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def taken(self):
        return [(headers, body) for status, headers, body in self.requests if status == 204]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def is_signed(headers, body):
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return hmac.compare_digest(wanted, headers["webhook-signature"])


class Webhooks(unittest.TestCase):
    def setUp(self):
        self.folder = data_folder()
        self.addCleanup(self.folder.cleanup)
        self.target = free_port()
        os.environ["HOOK_SECRET"] = SECRET
        self.start()

    def start(self):
        self.service = Service(
            [PROGRAM, "run", EXAMPLE, "-D", f"hook=http://127.0.0.1:{self.target}/hooks", "-D", "hook.private=true",
             "-D", "hook.initialDelay=50ms", "-D", "hook.maxDelay=200ms"], self.folder.name)
        self.addCleanup(self.service.kill)

    def subscribe(self, plan=()):
        subscriber = Subscriber(self.target, plan)
        self.addCleanup(subscriber.stop)
        return subscriber

    def pay(self, number, account="a-1"):
        payment = {"id": f"p-{number}", "account": account, "cents": 100 + number}
        return self.service.request("POST", "/payments", json.dumps(payment), JSON)[0]

    def test_a_payment_becomes_one_signed_webhook(self):
        subscriber = self.subscribe()
        self.assertEqual([self.pay(1), self.pay(1), self.pay(2)], [202, 202, 202])
        self.service.until(lambda: self.service.json("/stats") == {"payments": 2, "due": 0, "sent": 2}, "both are sent")
        self.assertEqual([json.loads(body)["id"] for _, body in subscriber.taken()], ["p-1", "p-2"])
        for headers, body in subscriber.taken():
            self.assertTrue(is_signed(headers, body))
            self.assertFalse(is_signed(headers, body + b" "))
        self.assertNotIn(SECRET, self.service.log())

    def test_a_payment_that_is_wrong_is_told_to_nobody(self):
        subscriber = self.subscribe()
        for body in ('{"id": "p-1"}', "[]", "{", '{"id": "p-2", "account": "a", "cents": -5}'):
            self.assertIn(self.service.request("POST", "/payments", body, JSON)[0], (400, 422), body)
        self.assertEqual(self.service.json("/stats"), {"payments": 0, "due": 0, "sent": 0})
        self.assertEqual(subscriber.requests, [])

    def test_failures_are_tried_again_with_the_same_id_and_in_order(self):
        subscriber = self.subscribe([500, 429, 404])
        for number in range(5):
            self.assertEqual(self.pay(number), 202)
        self.service.until(lambda: self.service.json("/stats")["sent"] == 5, "all are sent")
        self.assertEqual([json.loads(body)["id"] for _, body in subscriber.taken()], [f"p-{n}" for n in range(5)])
        first = [headers["webhook-id"] for _, headers, body in subscriber.requests if json.loads(body)["id"] == "p-0"]
        self.assertEqual(len(first), 4)
        self.assertEqual(len(set(first)), 1)
        self.assertTrue(all(is_signed(headers, body) for _, headers, body in subscriber.requests))

    def test_nothing_is_lost_while_nobody_listens_and_the_process_is_killed(self):
        for number in range(10):
            self.assertEqual(self.pay(number, f"a-{number % 3}"), 202)
        self.service.kill()
        self.start()
        self.assertEqual(self.service.json("/stats"), {"payments": 10, "due": 10, "sent": 0})
        subscriber = self.subscribe()
        self.service.until(lambda: self.service.json("/stats")["sent"] == 10, "all are sent")
        self.assertEqual({json.loads(body)["id"] for _, body in subscriber.taken()}, {f"p-{n}" for n in range(10)})
        self.assertEqual(self.service.terminate(), 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
