"""Routes with RabbitMQ, by the real program against a real broker: the example, and the cases where somebody deletes a queue or
a dead letter exchange is missing. The broker is looked after through its management API. Argument: the program `drom`."""
import base64
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from service import PATIENCE_S, Service, data_folder, free_port

PROGRAM = ""
EXAMPLE = os.path.join(os.path.dirname(__file__), "../../examples/rabbitmq_orders/orders.yaml")


class Broker:
    """What an operator does."""

    def __init__(self):
        url = urllib.parse.urlsplit(os.environ["DROM_TEST_RABBITMQ_MANAGEMENT"])
        self.base = f"http://{url.hostname}:{url.port}/api"
        self.authorization = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
        amqp = urllib.parse.urlsplit(os.environ["DROM_TEST_RABBITMQ"])
        self.address = f"{amqp.hostname}:{amqp.port}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method, data=None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", "Basic " + self.authorization)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def queue(self, name):
        self.call("PUT", f"/queues/%2F/{name}", {"durable": True})

    def remove(self, name):
        try:
            self.call("DELETE", f"/queues/%2F/{name}")
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise

    def exchange(self, name):
        self.call("PUT", f"/exchanges/%2F/{name}", {"type": "direct", "durable": True})

    def remove_exchange(self, name):
        self.call("DELETE", f"/exchanges/%2F/{name}")

    def bind(self, exchange, queue, key):
        self.call("POST", f"/bindings/%2F/e/{exchange}/q/{queue}", {"routing_key": key})

    def publish(self, queue, body, properties=None):
        answer = self.call("POST", "/exchanges/%2F/amq.default/publish",
                           {"properties": properties or {}, "routing_key": queue, "payload": body, "payload_encoding": "string"})
        assert answer["routed"], answer

    def take(self, queue, count=100):
        return self.call("POST", f"/queues/%2F/{queue}/get",
                         {"count": count, "ackmode": "ack_requeue_false", "encoding": "auto"})


def until(ready, what):
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        got = ready()
        if got:
            return got
        time.sleep(0.05)
    raise AssertionError("not within a minute: " + what)


class RabbitMq(unittest.TestCase):
    def setUp(self):
        if not os.environ.get("DROM_TEST_RABBITMQ"):
            if os.environ.get("DROM_CI"):
                self.fail("DROM_TEST_RABBITMQ is not set, but DROM_CI is")
            self.skipTest("DROM_TEST_RABBITMQ is not set")
        self.broker = Broker()
        self.name = "s" + str(random.randrange(10**9))
        self.folder = data_folder()
        self.addCleanup(self.folder.cleanup)

    def start(self, file):
        service = Service([PROGRAM, "run", file, "-D", f"broker={self.broker.address}", "-D", "drom.http.host=127.0.0.1",
                           "-D", "drom.http.port={{port}}", *self.more()], self.folder.name)
        self.addCleanup(service.kill)
        return service

    def more(self):
        self.management = free_port()
        return ["--management-port", str(self.management)]

    def start_routes(self, text):
        file = os.path.join(self.folder.name, "routes.yaml")
        with open(file, "w") as out:
            out.write(HEAD + text.replace("NAME", self.name))
        return self.start(file)

    def ready(self):
        """The status and the text of /health/ready."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.management}/health/ready", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_the_example(self):
        for queue in ("orders.new", "orders.dead"):
            self.broker.remove(queue)
            self.addCleanup(self.broker.remove, queue)
        service = self.start(EXAMPLE)
        order = json.dumps({"id": "o1", "item": "tea"})
        for _ in range(2):
            self.assertEqual(service.request("POST", "/orders", order)[::2], (202, b"accepted"))
        self.assertEqual(service.request("POST", "/orders", json.dumps({"id": "o2", "item": "milk"}))[0], 202)
        db = sqlite3.connect(os.path.join(self.folder.name, "shop.db"), timeout=30)
        self.addCleanup(db.close)
        rows = "SELECT id, item FROM orders ORDER BY id"
        until(lambda: db.execute(rows).fetchall() == [("o1", "tea"), ("o2", "milk")], "both orders are stored")
        # What is no JSON can never work: the broker's dead letters have it.
        self.broker.publish("orders.new", "{broken", {"message_id": "o3"})
        dead = until(lambda: self.broker.take("orders.dead"), "the broken order is dead")
        self.assertEqual([message["payload"] for message in dead], ["{broken"])
        self.assertEqual(service.terminate(), 0)
        self.assertEqual(db.execute(rows).fetchall(), [("o1", "tea"), ("o2", "milk")])

    def test_c33_a_deleted_queue_is_subscribed_again(self):
        self.broker.queue(self.name)
        self.addCleanup(self.broker.remove, self.name)
        out = os.path.join(self.folder.name, "out")
        service = self.start_routes(C33)
        until(lambda: self.ready()[0] == 200, "ready")
        self.broker.remove(self.name)
        status, text = until(lambda: self.ready() if self.ready()[0] != 200 else None, "the route is degraded")
        self.assertIn("rabbitmq", text, service.log())
        self.broker.queue(self.name)
        self.broker.publish(self.name, "m1")
        until(lambda: os.path.isdir(out) and os.listdir(out), "m1 is handled")
        until(lambda: self.ready()[0] == 200, "ready again")
        self.assertEqual(service.terminate(), 0)

    def test_c46_a_message_stays_while_its_dead_letters_have_no_place(self):
        dead = self.name + ".dead"
        self.broker.queue(self.name)
        self.addCleanup(self.broker.remove, self.name)
        self.addCleanup(self.broker.remove, dead)
        service = self.start_routes(C46)
        self.broker.publish(self.name, "m1")
        until(lambda: service.log().count("404") >= 2, "the dead letter could not be sent, twice")
        self.broker.queue(dead)
        self.broker.exchange(dead)
        self.addCleanup(self.broker.remove_exchange, dead)
        self.broker.bind(dead, dead, "gone")
        messages = until(lambda: self.broker.take(dead), "the dead letter")
        self.assertEqual([message["payload"] for message in messages], ["m1"])
        self.assertEqual(messages[0]["properties"]["headers"]["cause"], "on purpose")
        self.assertEqual(service.terminate(), 0)
        self.assertEqual(self.broker.take(self.name), [])
        self.assertEqual(self.broker.take(dead), [])
        # Requeued after its pause each time: no hot loop.
        self.assertLess(service.log().count("on purpose"), 300)


    def test_c30_an_unroutable_event_is_not_sent_until_there_is_a_queue(self):
        self.broker.exchange(self.name)
        self.addCleanup(self.broker.remove_exchange, self.name)
        service = self.start_routes(C30)
        self.assertEqual(service.request("POST", "/events", "e1")[0], 200)
        database = os.path.join(self.folder.name, "shop.db")
        db = sqlite3.connect(database, timeout=30)
        self.addCleanup(db.close)
        state = "SELECT status, last_error FROM outbox_ev"
        until(lambda: db.execute(state).fetchone()[0] == "dead", "the event is dead")
        self.assertIn("unroutable", db.execute(state).fetchone()[1])
        self.broker.queue(self.name)
        self.addCleanup(self.broker.remove, self.name)
        self.broker.bind(self.name, self.name, "a.b")
        retried = subprocess.run([PROGRAM, "outbox", "retry", "--name", "ev", "--url", database, "--dead"],
                                 capture_output=True, text=True, timeout=60)
        self.assertEqual(retried.returncode, 0, retried.stderr)
        until(lambda: db.execute(state).fetchone()[0] == "sent", "the event is sent")
        self.assertEqual(service.terminate(), 0)
        self.assertEqual([message["payload"] for message in self.broker.take(self.name)], ["e1"])

    def test_a_send_inside_a_transaction_is_kept_with_it(self):
        self.broker.queue(self.name)
        self.addCleanup(self.broker.remove, self.name)
        service = self.start_routes(KEPT)
        self.assertEqual(service.request("POST", "/orders", "tea")[0], 200)
        self.assertNotEqual(service.request("POST", "/orders", "bad")[0], 200)
        got = until(lambda: self.broker.take(self.name), "the message of the order")
        self.assertEqual([message["payload"] for message in got], ["tea"])
        self.assertEqual(got[0]["properties"]["headers"]["shop"], "north")
        db = sqlite3.connect(os.path.join(self.folder.name, "shop.db"), timeout=30)
        self.addCleanup(db.close)
        until(lambda: db.execute("SELECT status FROM outbox_sends").fetchall() == [("sent",)], "the send is marked")
        self.assertEqual(service.terminate(), 0)
        self.assertEqual(self.broker.take(self.name), [])


HEAD = """
- beans:
    - name: broker
      type: drom.rabbitmq
      properties: { addresses: "{{broker}}" }
- route:
    from:
      uri: platform-http:/alive
      steps:
        - setBody: { constant: yes }
"""
C33 = """
- route:
    from:
      uri: rabbitmq:default
      parameters: { queues: NAME, autoDeclare: false }
      steps:
        - to: "file:{{data}}/out?fileName=${exchangeId}"
"""
C46 = """
- route:
    errorHandler:
      deadLetterChannel:
        deadLetterUri: direct:dead
        redeliveryPolicy: { maximumRedeliveries: 2, redeliveryDelay: 20ms }
    from:
      uri: rabbitmq:default
      parameters: { queues: NAME, requeueDelay: 200ms }
      steps:
        - throwException: { exceptionType: transient, message: on purpose }
- route:
    errorHandler: { noErrorHandler: {} }
    from:
      uri: direct:dead
      steps:
        - setHeader: { name: cause, simple: "${exception.message}" }
        - to: rabbitmq:NAME.dead?routingKey=gone
"""

DATABASE = """
- beans:
    - name: db
      type: drom.sqlite
      properties:
        file: "{{data}}/shop.db"
        init: CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)
"""
C30 = DATABASE + """
- route:
    from:
      uri: platform-http:/events
      steps:
        - transacted:
            steps:
              - to: outbox:ev
- route:
    from:
      uri: outbox:ev
      steps:
        - to: rabbitmq:NAME?routingKey=a.b
"""
KEPT = DATABASE + """        outbox: sends
- route:
    from:
      uri: platform-http:/orders
      steps:
        - setHeader: { name: shop, constant: north }
        - transacted:
            steps:
              - to: "sql:INSERT INTO orders (item) VALUES (:#${body})"
              - to: rabbitmq:default?routingKey=NAME
              - choice:
                  when:
                    - simple: "${body} == 'bad'"
                      steps:
                        - throwException: { exceptionType: data, message: no }
"""

if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
