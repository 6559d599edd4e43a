#!/usr/bin/env python3
"""Start of `drom run` with one timer route until its first log line, and its memory then.
Promise: below 15 ms and below 15 MB (release build)."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUTE = """- route:
    from:
      uri: timer:tick?period=1h&delay=0
      steps:
        - log: tick
"""
RUNS = 31


def run_once(program, route):
    start = time.perf_counter()
    process = subprocess.Popen([program, "run", route], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        while True:
            line = process.stderr.readline()
            if not line:
                sys.exit("drom ended before its first log line")
            if b"tick" in line:
                break
        took = time.perf_counter() - start
        with open(f"/proc/{process.pid}/status") as status:
            rss = next(int(text.split()[1]) for text in status if text.startswith("VmRSS"))
        return took * 1000, rss / 1024
    finally:
        process.kill()
        process.wait()


def bare_once():
    """The same measurement of a program that does nothing but print: what starting a process costs here."""
    start = time.perf_counter()
    with subprocess.Popen(["/bin/echo", "tick"], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        return (time.perf_counter() - start) * 1000


def main():
    program = os.environ["DROM_PROGRAM"]
    with tempfile.TemporaryDirectory() as folder:
        route = os.path.join(folder, "tick.yaml")
        with open(route, "w") as file:
            file.write(ROUTE)
        runs = [run_once(program, route) for _ in range(RUNS)]
        bare = statistics.median(bare_once() for _ in range(RUNS))
    took = statistics.median(run[0] for run in runs)
    rss = statistics.median(run[1] for run in runs)
    print(f"start: first log line after {took:.1f} ms (promise 15; /bin/echo: {bare:.1f} ms), RSS {rss:.1f} MB (promise 15)")
    return 0 if took < 15 and rss < 15 else 1


if __name__ == "__main__":
    sys.exit(main())
