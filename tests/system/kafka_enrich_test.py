"""examples/kafka_enrich as its users meet it, on the real broker of DROM_TEST_KAFKA: orders in over HTTP, enriched in a
Kafka transaction, and the process killed in between. Argument: the program `drom`."""
import ctypes
import json
import os
import random
import sys
import time
import unittest

from service import Service, data_folder

PROGRAM = ""
EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "kafka_enrich", "kafka_enrich.yaml")
BROKERS = os.environ.get("DROM_TEST_KAFKA", "")
JSON = {"Content-Type": "application/json"}


def make_topic(name):
    """With librdkafka itself, for no tool of Kafka's is here."""
    rd = ctypes.CDLL("librdkafka.so.1")
    for call in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_NewTopic_new", "rd_kafka_queue_new",
                 "rd_kafka_queue_poll"):
        getattr(rd, call).restype = ctypes.c_void_p
    text = ctypes.create_string_buffer(512)
    conf = ctypes.c_void_p(rd.rd_kafka_conf_new())
    rd.rd_kafka_conf_set(conf, b"bootstrap.servers", BROKERS.encode(), text, 512)
    client = ctypes.c_void_p(rd.rd_kafka_new(0, conf, text, 512))
    topic = ctypes.c_void_p(rd.rd_kafka_NewTopic_new(name.encode(), 1, 1, text, 512))
    queue = ctypes.c_void_p(rd.rd_kafka_queue_new(client))
    rd.rd_kafka_CreateTopics(client, ctypes.byref(topic), 1, None, queue)
    event = ctypes.c_void_p(rd.rd_kafka_queue_poll(queue, 20000))
    error = rd.rd_kafka_event_error(event)
    rd.rd_kafka_event_destroy(event)
    rd.rd_kafka_queue_destroy(queue)
    rd.rd_kafka_NewTopic_destroy(topic)
    rd.rd_kafka_destroy(client)
    if error:
        raise AssertionError(f"topic {name}: error {error}")


class KafkaEnrich(unittest.TestCase):
    def setUp(self):
        if not BROKERS:
            if os.environ.get("DROM_CI"):
                self.fail("DROM_TEST_KAFKA is not set, but DROM_CI is")
            self.skipTest("DROM_TEST_KAFKA is not set")
        self.folder = data_folder()
        self.addCleanup(self.folder.cleanup)
        self.topic = f"orders{random.randrange(10**9)}"
        make_topic(self.topic)
        make_topic(self.topic + ".enriched")
        self.start()

    def start(self):
        self.service = Service([PROGRAM, "run", EXAMPLE, "-D", f"brokers={BROKERS}", "-D", f"topic={self.topic}",
                                "-D", "session=6s"],
                               self.folder.name)
        self.addCleanup(self.service.kill)

    def order(self, number):
        body = json.dumps({"id": f"o-{number}", "customer": f"c-{number % 2 + 1}"})
        status, _, answer = self.service.request("POST", "/orders", body, JSON)
        self.assertEqual(status, 202, answer)

    def enriched(self):
        status, _, body = self.service.request("GET", "/enriched")
        self.assertEqual(status, 200, body)
        return [json.loads(row["document"]) for row in json.loads(body)]

    def wait_for(self, count):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = self.enriched()
            if len(found) >= count:
                return found
            time.sleep(0.05)
        raise AssertionError(f"{len(self.enriched())} of {count}: " + self.service.log())

    def test_every_order_is_enriched_once_although_the_process_is_killed(self):
        for number in range(10):
            self.order(number)
        self.wait_for(3)
        self.service.kill()
        self.start()
        for number in range(10, 20):
            self.order(number)
        found = self.wait_for(20)
        self.assertEqual(sorted(one["id"] for one in found), sorted(f"o-{n}" for n in range(20)))
        for one in found:
            self.assertEqual(one["region"], "north" if one["customer"] == "c-1" else "south")
        for customer in ("c-1", "c-2"):
            numbers = [int(one["id"][2:]) for one in found if one["customer"] == customer]
            self.assertEqual(numbers, sorted(numbers))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
