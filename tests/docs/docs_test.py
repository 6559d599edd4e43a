"""What the docs show must work. Argument: the program `drom`.

Every YAML block of README.md and docs/ passes `drom validate` (a block of steps is wrapped into a route, a block of an
item into a file), and the INSERTs of the outbox contract are run as they stand there."""
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
TOP_LEVEL = ("route", "from", "beans", "onException", "errorHandler", "deadLetterChannel", "routeConfiguration",
             "rest", "restConfiguration")
ORDERS = "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL)"


def blocks(page, language):
    return [text for kind, text in FENCE.findall(page.read_text()) if kind == language]


def drom(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, **options)


def as_file(block):
    """A block as a whole route file; None for a block that is a test file."""
    names = re.findall(r"^(?:- )?(\w+):", block, re.MULTILINE)
    if "tests" in names:
        return None
    first = re.match(r"\s*(?:#.*\n)*- (\w+)", block)
    if first and first.group(1) in TOP_LEVEL:
        return block
    indented = "".join("        " + line + "\n" for line in block.splitlines())
    return "- route:\n    from:\n      uri: direct:shown\n      steps:\n" + indented


class Docs(unittest.TestCase):
    def test_every_yaml_block_is_valid(self):
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        count = 0
        for page in pages:
            for block in blocks(page, "yaml"):
                with self.subTest(page=str(page.relative_to(ROOT)), block=block), tempfile.TemporaryDirectory() as folder:
                    text = as_file(block)
                    path = os.path.join(folder, "shown.yaml")
                    if text is None:
                        Path(path).write_text(block)
                        result = drom("test", path)
                    else:
                        Path(path).write_text(text)
                        result = drom("validate", path, "--stub", "*")
                        # What a fragment refers to is not in the fragment.
                        codes = set(re.findall(r"^error\[(\w+)\]", result.stderr, re.MULTILINE))
                        if codes and codes <= {"E0407", "E0409", "E0502", "E0402", "E0209"}:
                            continue
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                    count += 1
        self.assertGreater(count, 20)

    def test_the_python_insert_of_the_outbox_contract(self):
        code = blocks(ROOT / "docs/guide/outbox-contract.md", "python")[0]
        with tempfile.TemporaryDirectory() as folder:
            database = os.path.join(folder, "shop.db")
            made = drom("outbox", "init", "--name", "orders", "--url", database, "--apply")
            self.assertEqual(made.returncode, 0, made.stderr)
            with sqlite3.connect(database) as db:
                db.execute(ORDERS)
            ran = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assert_one_due("--url", database)

    def test_the_psql_insert_of_the_outbox_contract(self):
        server = os.environ.get("DROM_TEST_POSTGRES")
        if not server:
            if os.environ.get("DROM_CI"):
                self.fail("DROM_TEST_POSTGRES is not set")
            self.skipTest("DROM_TEST_POSTGRES is not set")
        code = blocks(ROOT / "docs/guide/outbox-contract.md", "sql")[0]
        # A database of its own: other tests have tables of these names.
        conninfo = server + " dbname=drom_docs"
        psql = lambda text, where=conninfo: subprocess.run(["psql", "-v", "ON_ERROR_STOP=1", "-d", where], input=text,
                                                           text=True, capture_output=True, timeout=60)
        psql("DROP DATABASE IF EXISTS drom_docs", server)
        self.assertEqual(psql("CREATE DATABASE drom_docs", server).returncode, 0)
        try:
            self.assertEqual(psql(ORDERS + ";").returncode, 0)
            made = drom("outbox", "init", "--name", "orders", "--url", conninfo, "--apply")
            self.assertEqual(made.returncode, 0, made.stderr)
            ran = psql(code)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assert_one_due("--url", conninfo)
        finally:
            psql("DROP DATABASE drom_docs WITH (FORCE)", server)

    def test_the_mariadb_insert_of_the_outbox_contract(self):
        server = os.environ.get("DROM_TEST_MARIADB")
        if not server:
            if os.environ.get("DROM_CI"):
                self.fail("DROM_TEST_MARIADB is not set")
            self.skipTest("DROM_TEST_MARIADB is not set")
        code = blocks(ROOT / "docs/guide/outbox-contract.md", "mysql")[0]
        port = re.search(r":(\d+)/", server)[1]
        client = lambda text: subprocess.run(["mariadb", "--no-defaults", "-h127.0.0.1", "-P", port, "-uroot", "--skip-ssl"],
                                             input=text, text=True, capture_output=True, timeout=60)
        cleanup = "DROP DATABASE IF EXISTS drom_docs;"
        begin = client(cleanup + "CREATE DATABASE drom_docs CHARACTER SET utf8mb4; USE drom_docs; " + ORDERS + ";")
        self.assertEqual(begin.returncode, 0, begin.stderr)
        try:
            where = ["--name", "orders", "--url", server + "drom_docs"]
            made = drom("outbox", "init", "--apply", *where)
            self.assertEqual(made.returncode, 0, made.stderr)
            ran = client("USE drom_docs; " + code)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assert_one_due("--url", server + "drom_docs")
        finally:
            client(cleanup)

    def assert_one_due(self, *where):
        status = drom("outbox", "status", "--name", "orders", "--json", *where)
        self.assertEqual(status.returncode, 0, status.stderr)
        self.assertEqual(json.loads(status.stdout)["due"], 1)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
