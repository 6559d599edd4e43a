#!/usr/bin/env python3
"""Proves that each rule of the lint can fail, and that good code passes: a check that cannot fail is
a defect."""

import re
import sys
import unittest
from pathlib import Path

import lint

HEADER = "// What it is for.\n#pragma once\n"
# The headers that the samples include.
TREE = {
    "include/drom/base/error.hpp": HEADER,
    "include/drom/rt/clock.hpp": HEADER,
    "include/drom/spi/scope.hpp": HEADER,
    "src/engine/plan.hpp": HEADER,
    "src/eip/steps.hpp": HEADER,
    "src/connectors/http/http.hpp": HEADER,
    "include/drom/connectors/http.hpp": HEADER,
    "src/eip/eip_fixture.hpp": HEADER + '#include "support/harness.hpp"\n',
    "tests/support/harness.hpp": HEADER,
}

# (rule, path, text): each must be found. `coroutine` wraps statements in a coroutine.
def coroutine(statements: str) -> str:
    return f"async<> f() {{\n  {statements}\n}}\n"


BAD = [
    ("layer", "src/model/m.cpp", '#include "drom/spi/scope.hpp"\n'),
    ("layer", "src/spi/s.cpp", '#include "engine/plan.hpp"\n'),
    ("layer", "src/connectors/kafka/kafka.cpp", '#include "engine/plan.hpp"\n'),
    ("layer", "src/connectors/kafka/kafka.cpp", '#include "eip/steps.hpp"\n'),
    ("layer", "src/connectors/kafka/kafka.cpp", '#include "connectors/http/http.hpp"\n'),
    ("layer", "src/eip/choice.cpp", '#include "support/harness.hpp"\n'),
    ("layer", "src/eip/choice.cpp", '#include "eip/eip_fixture.hpp"\n'),
    ("layer", "src/attic/old.cpp", "int main_room();\n"),
    ("unknown-include", "src/base/b.cpp", '#include "drom/base/nowhere.hpp"\n'),
    ("include-cycle", "include/drom/base/a.hpp", HEADER + '#include "drom/base/a.hpp"\n'),
    ("public-include", "include/drom/base/a.hpp", HEADER + "#include <sqlite3.h>\n"),
    ("public-include", "include/drom/base/a.hpp", HEADER + "#include <boost/json.hpp>\n"),
    ("public-include", "include/drom/base/a.hpp", HEADER + '#include "engine/plan.hpp"\n'),
    ("heavy-include", "src/eip/a.cpp", "#include <boost/asio.hpp>\n"),
    ("heavy-include", "src/connectors/http/h.hpp", HEADER + "#include <boost/beast/http.hpp>\n"),
    ("clock", "src/eip/a.cpp", "auto t = std::chrono::system_clock::now();\n"),
    ("clock", "src/eip/a.cpp", "auto t = std::chrono::steady_clock::now();\n"),
    ("clock", "src/eip/a.cpp", "  const auto t = time(nullptr);\n"),
    ("clock", "src/eip/a.cpp", "  std::time(&t);\n"),
    ("random", "src/eip/a.cpp", "std::random_device device;\n"),
    ("random", "src/eip/a.cpp", "  return rand() % 6;\n"),
    ("random", "src/eip/a_test.cpp", "  std::srand(1);\n"),
    ("sleep", "src/eip/a.cpp", "std::this_thread::sleep_for(1s);\n"),
    ("sleep", "src/eip/a_test.cpp", "  usleep(1000);\n"),
    ("sleep", "src/eip/a.cpp", "  ::sleep(1);\n"),
    ("sleep", "src/eip/a.cpp", "  return sleep(1);\n"),
    ("environment", "src/eip/a.cpp", 'auto home = std::getenv("HOME");\n'),
    ("thread", "src/eip/a.cpp", "std::thread worker([] {});\n"),
    ("thread", "src/eip/a.cpp", "auto f = std::async(g);\n"),
    ("output", "src/eip/a.cpp", 'std::cout << "x";\n'),
    ("output", "src/eip/a.cpp", '  printf("x");\n'),
    ("namespace-std", "src/eip/a.cpp", "using namespace std;\n"),
    ("macro", "src/eip/a.cpp", "#define MAX(a, b) a\n"),
    ("registration", "src/eip/a.cpp", "static const bool registered = register_step();\n"),
    ("registration", "src/eip/a.cpp", "const int done = [] { return 1; }();\n"),
    ("registration", "src/eip/a.cpp", "Registrar nats_registrar;\n"),
    ("global", "src/eip/a.cpp", "int counter = 0;\n"),
    ("global", "src/eip/a.cpp", "static std::vector<int> cache;\n"),
    ("global", "src/eip/a.cpp", "thread_local std::string buffer;\n"),
    ("global", "src/eip/a.cpp", "std::atomic<int> hits{0};\n"),
    ("await-twice", "src/eip/a.cpp", coroutine("g(co_await a(), co_await b());")),
    ("await-twice", "src/eip/a.cpp", coroutine("const int n = co_await a() + co_await b();")),
    ("await-twice", "src/eip/a_test.cpp", coroutine("EXPECT_EQ(co_await a(),\n      co_await b());")),
    ("await-condition", "src/eip/a.cpp", coroutine("if (co_await a()) g();")),
    ("await-condition", "src/eip/a.cpp", coroutine("while (!co_await done()) g();")),
    ("await-condition", "src/eip/a.cpp", coroutine("if (x && co_await a()) g();")),
    ("await-condition", "src/eip/a.cpp", coroutine("const bool b = x || co_await a();")),
    ("await-condition", "src/eip/a.cpp", coroutine("const bool b = co_await a() && x;")),
    ("await-braces", "src/eip/a.cpp", coroutine("co_await f({.x = 1});")),
    ("await-braces", "src/eip/a.cpp", coroutine("co_await f(Options{1, 2});")),
    ("await-braces", "src/eip/a.cpp", coroutine("const auto r = co_await f(s, Options{});")),
    ("await-braces", "src/eip/a.cpp", coroutine("Options o{.x = co_await f()};")),
    ("await-braces", "src/eip/a.cpp", coroutine("std::vector<int> v = {co_await f()};")),
    ("coroutine-lambda", "src/eip/a.cpp", "auto l = [&]() -> async<> { co_await f(); };\n"),
    ("coroutine-lambda", "src/eip/a.cpp", "auto l = [=]() -> async<int> { co_return 1; };\n"),
    ("coroutine-lambda", "src/eip/a.cpp", "  run([this] { co_await f(); });\n"),
    ("coroutine-lambda", "src/eip/a_test.cpp",
     "  run([x](int n) mutable -> async<Result<void>> { co_await f(n); });\n"),
    ("coroutine-lambda", "src/eip/a.cpp",
     "  g([](int n) { return h([n]() -> async<> { co_await f(n); }); });\n"),
    ("await-twice", "src/eip/a.cpp",
     "auto l = []() -> async<> { g(co_await a(), co_await b()); };\n"),
    ("pragma-once", "src/eip/a.hpp", "// No guard.\nint f();\n"),
    ("final-newline", "src/eip/a.cpp", "int f();"),
    ("long-file", "src/eip/a.cpp", "int f();\n" * 501),
    ("trailing-space", "src/eip/a.cpp", "int f(); \n"),
    ("machine-path", "src/eip/a.cpp", '// see /home/me/notes\n'),
    ("machine-path", "docs/guide/a.md", "cd /work/main\n"),
    ("machine-path", "src/eip/a.cpp", 'f("/tmp/x");\n'),
    ("clock", "src/eip/a.cpp", "auto t = steady_clock::now();  // lint: allow(clock)\n"),
    ("clock", "src/eip/a.cpp", "auto t = steady_clock::now();  // lint: allow(sleep) wrong rule\n"),
]

GOOD = [
    ("src/eip/a.cpp", '#include "eip/steps.hpp"\n#include "drom/rt/clock.hpp"\n#include <string>\n'),
    ("src/app/main.cpp", '#include "engine/plan.hpp"\n#include "connectors/http/http.hpp"\n'),
    ("src/connectors/kafka/kafka.cpp", '#include "drom/spi/scope.hpp"\n'),
    ("src/connectors/http/a.cpp", '#include "connectors/http/http.hpp"\n#include "drom/connectors/http.hpp"\n'),
    ("src/eip/a_test.cpp", '#include "support/harness.hpp"\n#include "engine/plan.hpp"\n'),
    ("include/drom/rt/async.hpp", HEADER + "#include <boost/asio/awaitable.hpp>\n#include <string>\n"),
    ("src/rt/real_clock.cpp", "  auto t = std::chrono::system_clock::now();\n"),
    ("src/rt/clock.hpp", HEADER + "  virtual async<> sleep(milliseconds duration) = 0;\n"),
    ("src/eip/delay.cpp", coroutine("co_await clock.sleep(delay);")),
    ("src/eip/delay.cpp", "async<> sleep(milliseconds d);\nWallTime time(int x);\nasync<> Clock::sleep(int) {}\n"),
    ("src/eip/a.cpp", "// std::cout and steady_clock::now() in words\nf(\"getenv(x) co_await\");\n"),
    ("src/eip/a.cpp", 'f(R"(#define X\n  co_await a() && b)");\n'),
    ("src/eip/a.cpp", "const int n = 1'000'000;\nconst char c = '\"';\n"),
    ("src/eip/a.cpp", "// lint: allow(clock) the reason\nauto t() { return steady_clock::now(); }\n"),
    ("src/eip/a.cpp", "constexpr int kMax = 3;\nconst std::string kName = \"x\";\ninline constexpr int k = 1;\n"
                      "class X;\nstruct Y {};\nusing Z = int;\nstd::string f(int a = 1);\nint X::*p();\n"
                      "void g() {\n  int local = 0;\n}\nextern template class A<int>;\n"),
    ("src/eip/a.cpp", coroutine("const Result<int> r = co_await f(std::move(x), [] { return 1; });")),
    ("src/eip/a.cpp", coroutine("auto&& r = co_await f();")),
    ("src/eip/a.cpp", coroutine("if (x && y) co_await f();")),
    ("src/eip/a.cpp", coroutine("for (int i = 0; i < 3 && ok; ++i) {\n    co_await f(i);\n  }")),
    ("src/eip/a.cpp", coroutine("try {\n    co_await f();\n  } catch (...) {\n  }")),
    ("src/eip/a.cpp", "  auto l = [](int n) -> async<> { co_await f(n); };\n"),
    # Not a coroutine itself: it only calls one.
    ("src/eip/a.cpp", "  on_start([this]() -> async<> { return start(); });\n"),
    ("src/eip/a.cpp", coroutine("g([&] { return x; });\n  const int n = values[i];\n  co_await f(n);")),
    ("src/eip/a.cpp", coroutine("std::vector<int> v{1, 2};\n  switch (n) {\n    case 1: {\n"
                                "      co_await f();\n      break;\n    }\n  }")),
    ("docs/a.md", "the framework/work/flow, `/tmp/data`\n"),
]


class LintTest(unittest.TestCase):
    def problems(self, path, text):
        return lint.lint({**TREE, path: text})

    def test_each_bad_sample_is_found(self):
        for rule, path, text in BAD:
            with self.subTest(rule=rule, text=text):
                self.assertIn(rule, {p.rule for p in self.problems(path, text)})

    def test_good_samples_pass(self):
        for path, text in GOOD:
            with self.subTest(text=text):
                self.assertEqual([str(p) for p in self.problems(path, text)], [])

    def test_a_cycle_over_two_files_is_found_once(self):
        files = {"include/drom/base/a.hpp": HEADER + '#include "drom/base/b.hpp"\n',
                 "include/drom/base/b.hpp": HEADER + '#include "drom/base/a.hpp"\n'}
        self.assertEqual([p.rule for p in lint.lint(files)], ["include-cycle"])

    def test_problems_name_the_line(self):
        found = self.problems("src/eip/a.cpp", "int f();\n\n/* x\n */ int g() { return rand(); }\n")
        self.assertEqual([str(p).split(" ", 2)[:2] for p in found], [["src/eip/a.cpp:4:", "[random]"]])

    def test_each_rule_has_a_bad_sample(self):
        source = "".join((Path(__file__).parent / name).read_text(encoding="utf-8")
                         for name in ("lint.py", "lint_coroutines.py"))
        rules = set(lint.BANNED) | set(re.findall(r'(?:yield \w[^"\n]*, |yield \(|Problem\([^"\n]*, )"([a-z-]+)"', source))
        self.assertGreater(len(rules), 18)
        self.assertEqual(rules - {rule for rule, _, _ in BAD}, set())


if __name__ == "__main__":
    sys.exit(unittest.main())
