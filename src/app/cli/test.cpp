#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/cli/common.hpp"
#include "app/text_tests.hpp"

namespace drom::cli {
namespace {

struct TestOptions {
  std::vector<std::string> files;
  std::string filter;
};

int test(const TestOptions& options) {
  size_t passed = 0, failed = 0;
  bool wrong = false;
  for (const std::string& file : options.files) {
    const RouteTestReport report = run_route_tests(file, options.filter);
    std::fputs(report.errors.c_str(), stderr);
    wrong = wrong || !report.errors.empty();
    for (const RouteTestResult& result : report.results) {
      std::printf("%s  %s: %s\n", result.passed() ? "ok  " : "FAIL", file.c_str(),
                  result.name.c_str());
      for (const std::string& problem : result.problems)
        std::printf("        %s\n", problem.c_str());
      ++(result.passed() ? passed : failed);
    }
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  if (wrong) return kConfig;
  return failed == 0 && passed > 0 ? kOk : kFailed;
}

}  // namespace

void add_test(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("test", "Runs text tests of routes, in virtual time");
  auto options = std::make_shared<TestOptions>();
  verb->add_option("files", options->files, "Test files")->required()->type_name("FILE");
  verb->add_option("--filter", options->filter, "Only tests whose name contains this text");
  verb->footer(
      "A test file:\n"
      "  routes: orders.yaml                # beside this file; or inline: | with the routes "
      "themselves\n"
      "  properties: { data: \"{{test.dir}}\" }   # a fresh folder for each test\n"
      "  tests:\n"
      "    - name: a failed delivery is tried again\n"
      "      mocks: { out: { failNext: 1, error: not_connected } }\n"
      "      do:\n"
      "        - send: { to: direct:start, body: { id: 1 } }\n"
      "          expect: { body: { id: 1 } }\n"
      "        - advance: 5s\n"
      "      expect:\n"
      "        mocks: { out: { count: 1 } }\n"
      "        routes: { start: { redelivered: 1 } }\n\n"
      "Exit codes: 0 all passed, 1 some failed or none ran, 64 wrong call, 78 a file is wrong.");
  verb->callback([options, &exit_code] { exit_code = test(*options); });
}

}  // namespace drom::cli
