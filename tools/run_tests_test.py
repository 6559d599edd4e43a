#!/usr/bin/env python3
"""Proves that run_tests.py counts as it says, and above all that it can count a failure."""

import io
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from pathlib import Path

import run_tests

GTEST = """<testsuites><testsuite name="S">
<testcase name="A" classname="S" status="run" result="completed"/>
<testcase name="B" classname="S" status="run" result="completed"><failure message="no"/></testcase>
<testcase name="C" classname="S" status="run" result="skipped"><skipped/></testcase>
<testcase name="DISABLED_D" classname="S" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""


class RunTestsTest(unittest.TestCase):
    def count(self, junit, reports=None, servers=(), ci=False):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            (path / "junit.xml").write_text(f"<testsuite>{junit}</testsuite>", encoding="utf-8")
            for name, text in (reports or {}).items():
                (path / f"{name}.xml").write_text(text, encoding="utf-8")
            results = run_tests.summarize(path / "junit.xml", path, servers, ci)
            out = io.StringIO()
            with redirect_stdout(out):
                code = run_tests.report(results)
            return out.getvalue().rstrip("\n").split("\n")[-1], code

    def test_counts_cases_of_programs_and_other_tests_as_one(self):
        junit = '<testcase name="unit.a" status="fail"/><testcase name="lint" status="run"/>'
        self.assertEqual(self.count(junit, {"unit.a": GTEST}), ("2 passed, 1 failed, 1 skipped", 1))

    def test_all_passed_is_success(self):
        self.assertEqual(self.count('<testcase name="lint" status="run"/>'), ("1 passed, 0 failed", 0))

    def test_a_crash_without_a_report_is_one_failure(self):
        self.assertEqual(self.count('<testcase name="unit.a" status="fail"/>'), ("0 passed, 1 failed", 1))

    def test_a_crash_after_good_cases_is_one_failure(self):
        report = '<testsuites><testcase name="A" classname="S" status="run" result="completed"/></testsuites>'
        self.assertEqual(self.count('<testcase name="unit.a" status="fail"/>', {"unit.a": report}),
                         ("1 passed, 1 failed", 1))

    def test_a_half_written_report_is_a_failure(self):
        self.assertEqual(self.count('<testcase name="unit.a" status="fail"/>', {"unit.a": "<testsuites>"}),
                         ("0 passed, 1 failed", 1))

    def test_a_program_that_was_not_built_is_a_failure(self):
        self.assertEqual(self.count('<testcase name="unit.a" status="notrun"/>'), ("0 passed, 1 failed", 1))

    def test_no_test_is_no_success(self):
        self.assertEqual(self.count(""), ("0 passed, 0 failed", 1))

    def test_a_skipped_test_is_shown_and_is_no_failure(self):
        junit = '<testcase name="unit.a" status="run"/>'
        report = ('<testsuites><testcase name="A" classname="S" status="run" result="completed"/>'
                  '<testcase name="C" classname="S" status="run" result="skipped"/></testsuites>')
        self.assertEqual(self.count(junit, {"unit.a": report}), ("1 passed, 0 failed, 1 skipped", 0))
        self.assertEqual(self.count(junit, {"unit.a": report}, ci=True), ("1 passed, 0 failed, 1 skipped", 0))

    def test_a_server_that_did_not_start_fails_ci(self):
        junit = '<testcase name="lint" status="run"/>'
        self.assertEqual(self.count(junit, servers=["postgres"]), ("1 passed, 0 failed, 1 skipped", 0))
        self.assertEqual(self.count(junit, servers=["postgres"], ci=True), ("1 passed, 1 failed", 1))


if __name__ == "__main__":
    sys.exit(unittest.main())
