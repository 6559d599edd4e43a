// Tests of routes written as text: routes, what is sent, how far virtual time moves, what must have
// come out. Run by `drom test` and by our own suite. Each test gets a fresh engine, whose time
// moves only when the test says so or everything waits.
#pragma once

#include <string>
#include <vector>

namespace drom {

struct RouteTestResult {
  std::string name;
  std::vector<std::string> problems;  // empty: passed
  bool passed() const { return problems.empty(); }
};

struct RouteTestReport {
  std::string errors;  // the test file or its routes are wrong; rendered, nothing was run
  std::vector<RouteTestResult> results;
};

// `filter`: only tests whose name contains it.
RouteTestReport run_route_tests(const std::string& file, const std::string& filter);

}  // namespace drom
