"""Starts a program of ours on a free port and an own data folder, and stops it: for the system tests in Python."""
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

PATIENCE_S = 60


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


class Service:
    def __init__(self, command, data):
        self.port = free_port()
        self.data = data
        self.log_path = os.path.join(data, "service.log")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command + ["-D", f"port={self.port}", "-D", f"data={data}"], stdout=log, stderr=log
            )
        self._wait_until_listening()

    def _wait_until_listening(self):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(f"ended with exit code {self.process.returncode}: {self.log()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.005)
        raise AssertionError("does not listen: " + self.log())

    def log(self):
        with open(self.log_path) as log:
            return log.read()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def json(self, path):
        status, _, body = self.request("GET", path)
        assert status == 200, (status, body)
        return json.loads(body)

    def until(self, condition, what):
        """Polls; a deadline far above the need, no duration is asserted."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.01)
        raise AssertionError(f"never happened: {what}; log: {self.log()}")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def data_folder():
    return tempfile.TemporaryDirectory(prefix="drom-system-")
