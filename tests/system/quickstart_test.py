"""The quickstart as a user meets it. Run with the command that starts it as arguments."""
import json
import os
import sys
import unittest

from service import Service, data_folder

COMMAND = []
JSON = {"Content-Type": "application/json"}
EMPTY = {"orders": 0, "outbox_unsent": 0, "shipments": 0, "inbox": 0}


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.folder = data_folder()
        self.service = Service(COMMAND, self.folder.name)

    def tearDown(self):
        self.service.kill()
        self.folder.cleanup()

    def post(self, body, headers=None):
        return self.service.request("POST", "/orders", body, JSON if headers is None else headers)

    def assert_refused(self, answer, status):
        self.assertEqual(answer[0], status, answer)
        self.assertIn("error", json.loads(answer[2]))
        self.assertEqual(self.service.json("/stats"), EMPTY)

    def test_an_order_is_stored_relayed_and_shipped(self):
        status, headers, body = self.post('{"customer": "ada", "item": "a \\"quoted\\" tea"}')
        self.assertEqual(status, 201)
        self.assertEqual(json.loads(body), {"id": 1})
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(self.service.json("/orders/1"), {"id": 1, "customer": "ada", "item": 'a "quoted" tea'})
        self.service.until(lambda: self.service.json("/stats")["shipments"] == 1, "the shipment")
        self.service.until(lambda: self.service.json("/stats")["outbox_unsent"] == 0, "the event marked as sent")
        self.assertEqual(self.service.json("/stats"), {"orders": 1, "outbox_unsent": 0, "shipments": 1, "inbox": 1})

    def test_an_unknown_order_is_404(self):
        self.assertEqual(self.service.request("GET", "/orders/7")[0], 404)

    def test_a_body_that_is_no_json_is_400(self):
        self.assert_refused(self.post('{"customer": '), 400)
        self.assert_refused(self.post(""), 400)
        self.assert_refused(self.post(b"\xff\xfe\x00"), 400)

    def test_a_missing_field_is_400_and_says_which(self):
        answer = self.post('{"customer": "ada"}')
        self.assert_refused(answer, 400)
        self.assertIn("item", json.loads(answer[2])["error"]["message"])
        self.assert_refused(self.post("[1]"), 400)
        self.assert_refused(self.post('{"customer": "ada", "item": null}'), 400)

    def test_a_body_of_10_mb_is_413(self):
        self.assert_refused(self.post(b" " * (10 * 1024 * 1024)), 413)

    def test_a_wrong_method_is_405_with_the_right_ones(self):
        answer = self.service.request("DELETE", "/orders")
        self.assert_refused(answer, 405)
        self.assertIn("POST", answer[1]["Allow"])

    def test_a_wrong_content_type_is_415(self):
        self.assert_refused(self.post('{"customer": "a", "item": "b"}', {"Content-Type": "text/plain"}), 415)

    def test_sigterm_drains_and_exits_0_and_the_next_start_has_everything(self):
        for i in range(20):
            self.assertEqual(self.post(json.dumps({"customer": f"c{i}", "item": "tea"}))[0], 201)
        self.assertEqual(self.service.terminate(), 0)
        self.service = Service(COMMAND, self.folder.name)
        self.service.until(lambda: self.service.json("/stats")["outbox_unsent"] == 0, "the drain")
        self.assertEqual(self.service.json("/stats"), {"orders": 20, "outbox_unsent": 0, "shipments": 20, "inbox": 20})


if __name__ == "__main__":
    COMMAND = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(__file__))
    unittest.main(argv=sys.argv[:1])
