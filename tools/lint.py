#!/usr/bin/env python3
"""The house rules that a program can check. Prints `file:line: [rule] what to do` and exits 1 when
something is wrong. `// lint: allow(rule) reason` excuses its own and the next line. Uses nothing but Python's
standard library; tools/lint_test.py proves for each rule that it can fail."""

import re
import subprocess
import sys
from pathlib import Path

import lint_coroutines
from lint_text import blank, line_of

# The rooms, lowest first: a room includes only itself and rooms before it.
LAYERS = ["base", "model", "expr", "machines", "config", "rt", "spi", "observe", "sql", "formats",
          "eip", "engine", "dsl", "connectors", "admin", "app"]
CONNECTORS_NEVER = {"eip", "engine", "dsl"}
# Third-party headers that a public header may pull into a user's program.
PUBLIC_THIRD_PARTY = {"boost/asio/awaitable.hpp"}
LINES_MAX = 500
LONG_FILES = {  # why it is better in one piece
    "src/sql/database_conformance_test.cpp": "the one suite that every database must pass",
    "src/connectors/outbox/outbox_db_test.cpp": "the relay's cases, each on all databases by one fixture",
}
# Tests and their helpers beside the sources.
TEST_ENDINGS = ("_test.cpp", "_test.py", "_fixture.hpp", "_test_support.hpp", "_conformance.hpp")

# rule: (pattern over blanked code, where it is allowed, message)
BANNED = {
    "clock": (r"\b(?:system|steady|high_resolution)_clock::now\b|\b(?:clock_gettime|gettimeofday)\s*\("
              r"|(?<![\w.>])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0|&)",
              ("src/rt/", "bench/", "tests/", *TEST_ENDINGS),
              "reads a clock: take drom::Clock from Scope or BuildContext"),
    "random": (r"\brandom_device\b|(?<![\w.>:])(?:std::|::)?s?rand\s*\(|\barc4random\b|\bgetrandom\s*\(",
               ("src/rt/",),
               "unseeded randomness: take drom::Rng from Scope or BuildContext"),
    "sleep": (r"\bsleep_(?:for|until)\b|(?<![\w.>:])(?:::)?(?:u|nano)?sleep\s*\(",
              ("src/rt/", "bench/", "tests/"),
              "blocks a thread: wait with co_await clock.sleep(...)"),
    "environment": (r"\b(?:secure_getenv|getenv|setenv|putenv)\s*\(",
                    ("src/rt/", "bench/", "tests/", *TEST_ENDINGS),
                    "reads the environment: take it from EvalEnv"),
    "thread": (r"\bstd::(?:jthread|thread|async)\b|\bpthread_create\b",
               ("src/rt/", "src/app/", "bench/", "tests/", *TEST_ENDINGS),
               "starts a thread: use a shard or a Lane of src/rt"),
    "output": (r"\bstd::(?:cout|cerr|clog)\b|(?<![\w.>:])(?:std::|::)?(?:printf|puts)\s*\(",
               ("src/app/", "bench/", "tests/", *TEST_ENDINGS),
               "writes to the terminal: use drom::Log, or return the text to src/app"),
    "namespace-std": (r"\busing\s+namespace\s+std\b(?!::)", (), "`using namespace std`: name what you use"),
    "macro": (r"^[ \t]*#[ \t]*define\b", ("include/drom/base/assert.hpp",),
              "a macro: use a function, a constant or a template"),
    "heavy-include": (r"#include <boost/asio\.hpp>", (), "include the parts of Asio that you use"),
    "registration": (r"\b(?:gnu::|__)constructor\b|^(?:static|const|inline)[^\n(;]*=\s*(?:\[\]|\w*register\w*\()"
                     r"|^(?:static\s+)?\w*Registrar\b\s+\w+",
                     (), "static registration: register in register_<scheme>(Registry&)"),
    "global": (r"^(?!const|template|using|typedef|class|struct|enum|union|namespace|extern|return|friend|public"
               r"|private|static_assert|concept|inline const|static const|else|case|goto|throw|delete)"
               r"[A-Za-z_][\w:<>,*& \t]*[ \t*&]\w+(?:\[\w*\])?[ \t]*(?:=[^=]|;|\{[^\n]*\};)",
               ("tests/", "bench/"),
               "a mutable global: give it an owner and pass it"),
}

ALLOWED = re.compile(r"//\s*lint:\s*allow\(([\w-]+)\)\s*(\S.*)?$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"]', re.MULTILINE)


class Problem:
    def __init__(self, path: str, line: int, rule: str, text: str):
        self.path, self.line, self.rule, self.text = path, line, rule, text

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.text}"


def is_test(path: str) -> bool:
    return path.startswith("tests/") or path.endswith(TEST_ENDINGS)


def layer_of(path: str):
    """The room of a file, or None for what stands outside or above all rooms."""
    match = re.match(r"(?:src|include/drom)/(\w+)/", path)
    return match.group(1) if match else None


def connector_of(path: str):
    match = re.match(r"(?:src|include/drom)/connectors/(\w+)[/.]", path)
    return match.group(1) if match else None


def resolve(path: str, name: str, files):
    """The repository file that `#include "name"` in `path` means, or None."""
    for candidate in (f"include/{name}", f"src/{name}", f"tests/{name}",
                      f"{path.rpartition('/')[0]}/{name}", name):
        if candidate in files:
            return candidate
    return None


def check_includes(path: str, text: str, files):
    layer = layer_of(path)
    if layer and layer not in LAYERS:
        yield 1, "layer", f"unknown room '{layer}': give it a place in LAYERS of tools/lint.py"
        return
    for match in INCLUDE.finditer(text):
        line, (kind, name) = line_of(text, match.start(2)), match.groups()
        if kind == "<":
            third_party = "/" in name or name.endswith(".h")
            if path.startswith("include/") and third_party and name not in PUBLIC_THIRD_PARTY:
                yield line, "public-include", f"a public header must not pull in <{name}>"
            if path.endswith(".hpp") and name.startswith("boost/beast"):
                yield line, "heavy-include", "Beast in a header costs 10 s per file: keep it in the .cpp"
            continue
        target = resolve(path, name, files)
        if target is None:
            if path.startswith(("src/", "include/")):
                yield line, "unknown-include", f"no file \"{name}\" under include/, src/ or tests/"
            continue
        if path.startswith("include/") and not target.startswith("include/"):
            yield line, "public-include", f"a public header includes {target}, which is not installed"
        if is_test(path) or not layer:
            continue
        if is_test(target):
            yield line, "layer", f"product code includes the test helper {target}"
        other = layer_of(target)
        if not other or other not in LAYERS:
            continue
        if LAYERS.index(other) > LAYERS.index(layer):
            yield line, "layer", f"{layer} includes {other}, which is a higher room"
        elif layer == "connectors":
            if other in CONNECTORS_NEVER:
                yield line, "layer", f"a connector includes {other}: it may use spi, machines, sql and below"
            elif other == "connectors" and connector_of(target) != connector_of(path):
                yield line, "layer", f"connector {connector_of(path)} includes connector {connector_of(target)}"


def is_declaration(code: str, start: int) -> bool:
    """Whether the name at `start` follows a type, as in `async<> sleep(`."""
    before = code[:start].rstrip(" \t")
    if before[-1:] in (">", "*", "&"):
        return True
    word = re.search(r"\w+$", before)
    return bool(word) and word.group() not in ("return", "co_return", "co_await", "else", "do")


def check_banned(path: str, code: str):
    for rule, (pattern, allowed, message) in BANNED.items():
        if any(path.startswith(a) or path.endswith(a) for a in allowed):
            continue
        for match in re.finditer(pattern, code, re.MULTILINE):
            if rule == "sleep" and is_declaration(code, match.start()):
                continue
            yield line_of(code, match.start()), rule, message


def check_cpp(path: str, text: str, files):
    code = blank(text)
    yield from check_includes(path, text, files)
    yield from check_banned(path, code)
    for rule, position, message in lint_coroutines.check(code):
        yield line_of(code, position), rule, message
    if path.endswith(".hpp") and not path.startswith("cmake/"):
        first = code.strip().split("\n", 1)[0].strip()
        if first != "#pragma once":
            yield 1, "pragma-once", "the first line of code of a header is `#pragma once`"


def check_text(path: str, text: str):
    lines = text.split("\n")
    if text and lines[-1]:
        yield len(lines), "final-newline", "no newline at the end of the file"
    if len(lines) - 1 > LINES_MAX and path not in LONG_FILES and not path.endswith((".md", ".yaml", ".json")):
        yield LINES_MAX, "long-file", f"{len(lines) - 1} lines: split it by ideas, or give a reason in LONG_FILES"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "trailing-space", "white space at the end of the line"
        path_of_machine = re.search(r"(?<![\w.$}*-])/(?:work|home|root|tmp)/", line)
        if path_of_machine and not (path_of_machine.group() == "/tmp/" and
                                    (is_test(path) or path.endswith((".md", ".yaml")))):
            yield number, "machine-path", f"{path_of_machine.group()} exists on one machine only"


def check_cycles(files):
    """Each include cycle once, at its first file."""
    graph = {path: [t for _, name in (m.groups() for m in INCLUDE.finditer(text) if m.group(1) == '"')
                    if (t := resolve(path, name, files))]
             for path, text in files.items() if path.endswith((".hpp", ".cpp"))}
    done, reported = set(), set()

    def visit(path, trail):
        if path in trail:
            cycle = trail[trail.index(path):]
            if frozenset(cycle) not in reported:
                reported.add(frozenset(cycle))
                yield Problem(cycle[0], 1, "include-cycle", " -> ".join(cycle + [path]))
            return
        if path in done:
            return
        for target in graph.get(path, ()):
            yield from visit(target, trail + [path])
        done.add(path)

    for path in sorted(graph):
        yield from visit(path, [])


def lint(files):
    """All problems of a repository given as {path: text}."""
    problems = list(check_cycles(files))
    for path, text in sorted(files.items()):
        if path.startswith(("tests/fuzz/corpus/", "tests/golden/")) or path == "LICENSE":
            continue
        found = []
        if not path.startswith("tools/lint"):  # the rules themselves name what they forbid
            found += check_text(path, text)
        if path.endswith((".hpp", ".cpp")):
            found += check_cpp(path, text, files)
        lines = text.split("\n")
        for line, rule, message in found:
            excuse = ALLOWED.search(lines[line - 1]) or ALLOWED.search(lines[max(line - 2, 0)])
            if excuse and excuse.group(1) == rule:
                if excuse.group(2):
                    continue
                message = "an excuse without a reason: `// lint: allow(rule) reason`"
            problems.append(Problem(path, line, rule, message))
    return problems


def repository(root: Path):
    """{path: text} of all text files that git knows or would add."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=root, check=True, capture_output=True, text=True).stdout
    files = {}
    for name in filter(None, names.split("\0")):
        try:
            files[name] = (root / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # binary, or deleted and not yet committed
    return files


def main() -> int:
    files = repository(Path(__file__).resolve().parent.parent)
    problems = lint(files)
    for problem in problems:
        print(problem)
    print(f"lint: {len(files)} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
