"""Bodies that pass through a route without ever being in memory as a whole. Argument: the program `drom`."""
import hashlib
import http.client
import http.server
import os
import sys
import tempfile
import threading
import unittest

from service import Service

PROGRAM = ""
SIZE = 300_000_000
MEMORY_MAX = 80_000_000  # of the process: about a quarter of one body
BLOCK = bytes(range(256)) * 1024
ROUTES = """
- route:
    from:
      uri: platform-http:/upload
      parameters: { httpMethodRestrict: POST, useStreaming: true, maxBodySize: 1GB }
      steps:
        - setHeader: { name: X-Way, constant: streamed }
        - to: "http://127.0.0.1:{{target}}/sum"
- route:
    from:
      uri: platform-http:/download
      parameters: { httpMethodRestrict: GET }
      steps:
        - to:
            uri: "http://127.0.0.1:{{target}}/big"
            parameters: { disableStreamCache: true, maxResponseSize: 1GB }
- route:
    from:
      uri: platform-http:/keep
      parameters: { httpMethodRestrict: PUT, useStreaming: true, maxBodySize: 1GB }
      steps:
        - to:
            uri: "file:{{data}}/kept"
            parameters: { fileName: upload.bin }
        - setBody: { simple: "${header.CamelFileNameProduced}" }
- route:
    from:
      uri: platform-http:/look
      parameters: { httpMethodRestrict: POST, useStreaming: true, maxBodySize: 1GB }
      steps:
        - setBody: { simple: "${body.length}" }
"""


def blocks():
    for _ in range(0, SIZE, len(BLOCK)):
        yield BLOCK


TOTAL = len(range(0, SIZE, len(BLOCK))) * len(BLOCK)


def digest_of(pieces):
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


class Target(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        digest = hashlib.sha256()
        while size := int(self.rfile.readline(), 16):
            while size:
                piece = self.rfile.read(min(size, 1 << 16))
                size -= len(piece)
                digest.update(piece)
            self.rfile.readline()
        self.rfile.readline()
        answer = f"{digest.hexdigest()} {self.headers['X-Way']}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(TOTAL))
        self.send_header("X-Kind", "big")
        self.end_headers()
        for block in blocks():
            self.wfile.write(block)

    def log_message(self, *args):
        pass


class HttpStreams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.target = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
        threading.Thread(target=cls.target.serve_forever, daemon=True).start()
        cls.folder = tempfile.TemporaryDirectory(prefix="drom-streams-")
        routes = os.path.join(cls.folder.name, "routes.yaml")
        with open(routes, "w") as file:
            file.write(ROUTES)
        with open(os.path.join(cls.folder.name, "application.properties"), "w") as file:
            file.write("drom.http.host=127.0.0.1\ndrom.http.port={{port}}\n")
            file.write(f"target={cls.target.server_address[1]}\n")
        cls.service = Service([PROGRAM, "run", routes], cls.folder.name)
        with open(PROGRAM, "rb") as file:
            cls.sanitized = b"__asan_init" in file.read()
        cls.expected = digest_of(blocks())

    @classmethod
    def tearDownClass(cls):
        cls.service.terminate()
        cls.target.shutdown()
        cls.target.server_close()
        cls.folder.cleanup()

    def tearDown(self):
        if not self.sanitized:  # AddressSanitizer holds back what was freed
            self.assertLess(self.memory(), MEMORY_MAX)

    def memory(self):
        with open(f"/proc/{self.service.process.pid}/status") as status:
            line = next(line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024

    def ask(self, method, path, pieces=None):
        """Sends the pieces, if there are any, as a chunked body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
        self.addCleanup(connection.close)
        headers = {} if pieces is None else {"Transfer-Encoding": "chunked"}
        connection.request(method, path, pieces, headers, encode_chunked=True)
        return connection.getresponse()

    def test_a_large_upload_reaches_the_target(self):
        answer = self.ask("POST", "/upload", blocks())
        self.assertEqual((answer.status, answer.read().decode()), (200, self.expected + " streamed"))

    def test_a_large_answer_reaches_the_client(self):
        answer = self.ask("GET", "/download")
        self.assertEqual(answer.getheader("Content-Length"), str(TOTAL))
        self.assertEqual(answer.getheader("X-Kind"), "big")
        self.assertEqual(digest_of(iter(lambda: answer.read(1 << 16), b"")), self.expected)

    def test_a_large_upload_becomes_a_file(self):
        answer = self.ask("PUT", "/keep", blocks())
        path = answer.read().decode()
        self.assertEqual((answer.status, os.path.basename(path)), (200, "upload.bin"))
        with open(path, "rb") as file:
            self.assertEqual(digest_of(iter(lambda: file.read(1 << 16), b"")), self.expected)

    def test_a_step_that_looks_gets_the_body_unless_it_is_too_large(self):
        answer = self.ask("POST", "/look", [BLOCK, BLOCK])
        self.assertEqual((answer.status, answer.read()), (200, str(2 * len(BLOCK)).encode()))
        answer = self.ask("POST", "/look", [BLOCK] * 50)
        self.assertEqual(answer.status, 422)
        self.assertIn("too large for the memory", self.service.log())


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
