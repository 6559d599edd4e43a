#!/usr/bin/env python3
"""Runs ctest over a build folder and counts single test cases: a GoogleTest program counts with its
cases (it leaves them as XML in test-results/), any other test as one. The last line is
`N passed, N failed`. Exits non-zero when a test failed or none ran; under DROM_CI a server that did
not start counts as failed (tests that need it fail by themselves then)."""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path


def cases_of_program(report: Path):
    """(name, outcome) of each case of a GoogleTest report."""
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        if case.get("status") == "notrun":
            continue  # filtered out or DISABLED_
        if case.find("failure") is not None:
            yield name, "failed"
        elif case.get("result") == "skipped":
            yield name, "skipped"
        else:
            yield name, "passed"


def cases_of_ctest(name: str, status: str, report: Path):
    """(name, outcome) of what one ctest stands for."""
    if status in ("notrun", "disabled"):
        # ctest says so for a program that was not built, too.
        yield name, "failed" if status == "notrun" else "skipped"
        return
    cases = []
    if report.exists():
        try:
            cases = list(cases_of_program(report))
        except ElementTree.ParseError:
            pass  # the program died while writing it; its status says failed
        yield from ((f"{name}: {case}", outcome) for case, outcome in cases)
    if status != "run" and not any(outcome == "failed" for _, outcome in cases):
        yield name, "failed"  # crashed, timed out, leaked, or is no GoogleTest program
    elif status == "run" and not report.exists():
        yield name, "passed"


def summarize(junit: Path, reports: Path, servers_failed, ci: bool):
    """All (name, outcome), with the rules of CI applied."""
    results = [(f"server {name}", "failed" if ci else "skipped") for name in servers_failed]
    for test in ElementTree.parse(junit).getroot().iter("testcase"):
        name = test.get("name")
        results += cases_of_ctest(name, test.get("status"), reports / f"{name}.xml")
    return results


def report(results) -> int:
    for name, outcome in results:
        if outcome != "passed":
            print(f"{outcome}: {name}")
    count = Counter(outcome for _, outcome in results)
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    print(f"{count['passed']} passed, {count['failed']} failed{skipped}", flush=True)
    return 0 if count["passed"] and not count["failed"] else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--tests", help="regular expression of ctest names")
    parser.add_argument("--cases", help="GoogleTest filter")
    parser.add_argument("--label", help="regular expression of ctest labels")
    args = parser.parse_args()

    reports = args.build / "test-results"
    reports.mkdir(exist_ok=True)
    for old in reports.glob("*.xml"):
        old.unlink()
    junit = args.build / "test-results.xml"
    junit.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(args.build), "-j", args.jobs, "--output-on-failure",
               "--no-tests=error", "--timeout", "300", "--output-junit", junit.name]
    if args.tests:
        command += ["-R", args.tests]
    if args.label:
        command += ["-L", args.label]
    environment = dict(os.environ)
    if args.cases:
        environment["GTEST_FILTER"] = args.cases
    status = subprocess.run(command, env=environment, check=False).returncode
    if not junit.exists():
        return status or 1
    return report(summarize(junit, reports, os.environ.get("DROM_SERVERS_FAILED", "").split(),
                            bool(os.environ.get("DROM_CI"))))


if __name__ == "__main__":
    sys.exit(main())
