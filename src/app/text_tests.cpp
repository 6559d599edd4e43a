#include "app/text_tests.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include "config/yaml_tree.hpp"
#include "drom/app.hpp"
#include "drom/base/json.hpp"
#include "drom/connectors/mock.hpp"
#include "dsl/yaml_reader.hpp"
#include "observe/counters.hpp"

namespace drom {
namespace {

namespace fs = std::filesystem;

// How long expectations may take to come true: virtual time first, real time where something real
// works.
constexpr milliseconds kPatience = std::chrono::seconds(30);

class KeptLog final : public Log {
 public:
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel, std::string_view category, std::string_view message) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back("[" + std::string(category) + "] " + std::string(message));
  }
  bool contains(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : lines_)
      if (line.find(text) != std::string::npos) return true;
    return false;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

std::optional<std::string> read_file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
}

// A folder that is gone when the test is.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (fs::temp_directory_path() / "drom-test-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;  // what cannot be removed is left to the system's cleaning
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::optional<ErrorKind> kind_named(std::string_view name) {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::bug); ++kind)
    if (to_string(static_cast<ErrorKind>(kind)) == name) return static_cast<ErrorKind>(kind);
  return std::nullopt;
}

// The whole file, checked: unknown keys are errors with their place.
class TestFile {
 public:
  TestFile(std::string file, Diagnostics& problems)
      : file_(std::make_shared<const std::string>(std::move(file))), problems_(problems) {}

  bool read() {
    const std::optional<std::string> text = read_file(*file_);
    if (!text) {
      problems_.error("E0001", Location{file_, 0, 0}, "the file cannot be read");
      return false;
    }
    std::optional<YamlNode> root = parse_yaml(*text, file_, problems_);
    if (!root) return false;
    root_ = std::move(*root);
    if (!check(root_, {"routes", "inline", "properties", "stub", "tests"}, "a test file"))
      return false;
    if (!root_.find("tests") || !root_.find("tests")->is_list())
      return wrong(root_.where, "a test file needs a list of `tests`");
    if (!root_.find("routes") && !root_.find("inline"))
      return wrong(root_.where, "a test file needs `routes` (files) or `inline` (their text)");
    bool fine = true;
    for (const YamlNode& test : tests()) {
      fine = check(test, {"name", "mocks", "do", "expect"}, "a test") && fine;
      if (test.is_map() && !test.find("name")) fine = wrong(test.where, "a test needs a `name`");
    }
    return fine;
  }

  const std::vector<YamlNode>& tests() const { return root_.find("tests")->items; }
  const YamlNode& root() const { return root_; }
  const std::string& name() const { return *file_; }

  bool check(const YamlNode& node, const std::vector<std::string>& keys, const std::string& what) {
    if (!node.is_map()) return wrong(node.where, what + " must be a map");
    bool fine = true;
    for (const YamlEntry& entry : node.entries) {
      if (std::find(keys.begin(), keys.end(), entry.name) != keys.end()) continue;
      problems_.error("E0201", entry.name_where, "unknown key '" + entry.name + "' in " + what,
                      did_you_mean(entry.name, keys));
      fine = false;
    }
    return fine;
  }
  bool wrong(const Location& where, std::string what) {
    problems_.error("E0306", where, std::move(what));
    return false;
  }

 private:
  std::shared_ptr<const std::string> file_;
  Diagnostics& problems_;
  YamlNode root_;
};

std::vector<std::string> texts(const YamlNode* node) {
  std::vector<std::string> out;
  if (!node) return out;
  if (node->is_scalar()) out.push_back(node->text);
  for (const YamlNode& item : node->items) out.push_back(item.text);
  return out;
}

// One test: its engine, its steps, its expectations.
class TestRun {
 public:
  TestRun(TestFile& file, const YamlNode& test, Diagnostics& problems)
      : file_(file), test_(test), problems_(problems), log_(std::make_shared<KeptLog>()) {}

  // False: the routes or the test are wrong, see the diagnostics.
  bool run(RouteTestResult& result) {
    result_ = &result;
    result.name = test_.find("name")->text;
    if (!start()) return false;
    for (const YamlEntry& entry : entries(test_.find("mocks"))) set_up_mock(entry);
    const Result<void> started = app_->engine().start_now();
    if (!started) {
      problem("the routes do not start: " + started.error().message());
      app_->engine().stop_now();
      return true;
    }
    if (const YamlNode* steps = test_.find("do"))
      for (const YamlNode& step : steps->items) perform(step);
    expect();
    app_->engine().stop_now();
    return !problems_.has_errors();
  }

 private:
  static const std::vector<YamlEntry>& entries(const YamlNode* node) {
    static const std::vector<YamlEntry> kNone;
    return node ? node->entries : kNone;
  }
  void problem(std::string text) { result_->problems.push_back(std::move(text)); }

  bool start() {
    std::vector<std::pair<std::string, std::string>> defines = {{"test.dir", folder_.path()},
                                                                {"drom.http.port", "0"}};
    for (const YamlEntry& entry : entries(file_.root().find("properties")))
      defines.emplace_back(entry.name, entry.value.text);
    const fs::path folder = fs::path(file_.name()).parent_path();
    EngineOptions options;
    options.properties = load_properties(defines, {}, problems_);
    options.log = log_;
    options.manual_time = true;
    options.seed = 1;
    options.stub_schemes = texts(file_.root().find("stub"));
    app_ = std::make_unique<App>(std::move(options));
    bool fine = true;
    for (const std::string& name : texts(file_.root().find("routes"))) {
      const bool loaded = app_->load((folder / name).string());
      fine = fine && loaded;
    }
    if (const YamlNode* text = file_.root().find("inline")) {
      ContextSpec spec;
      fine = read_yaml(text->text, file_.name() + " (inline)", app_->registry(), spec,
                       app_->engine().diagnostics()) &&
             fine;
      app_->engine().add(std::move(spec));
    }
    fine = app_->build() && fine;
    if (!fine) result_->problems.push_back(app_->engine().diagnostics().render());
    return fine;
  }

  Mock& mock(const std::string& name) { return mocks(app_->registry()).get(name); }

  void set_up_mock(const YamlEntry& entry) {
    if (!file_.check(entry.value, {"failNext", "error", "reply"}, "the mock '" + entry.name + "'"))
      return;
    if (const YamlNode* reply = entry.value.find("reply"))
      mock(entry.name).reply([value = to_value(*reply)](Exchange& exchange) {
        exchange.message.body = value;
      });
    Error error(ErrorKind::transient, "injected by the test");
    if (const YamlNode* kind = entry.value.find("error")) {
      const std::optional<ErrorKind> named = kind_named(kind->text);
      if (!named) file_.wrong(kind->where, "'" + kind->text + "' is no kind of error");
      if (named) error.kind = *named;
    }
    if (const YamlNode* count = entry.value.find("failNext"))
      mock(entry.name).fail_next(static_cast<size_t>(to_value(*count).to_int().value_or(0)), error);
  }

  void perform(const YamlNode& step) {
    if (!file_.check(step, {"send", "advance", "expect"}, "a step of `do`")) return;
    if (const YamlNode* advance = step.find("advance")) {
      const Result<milliseconds> duration = parse_duration(advance->text);
      if (!duration) {
        file_.wrong(advance->where, duration.error().message());
        return;
      }
      app_->engine().drive_until([] { return false; }, *duration);
    }
    if (const YamlNode* send = step.find("send")) send_one(*send, step.find("expect"));
  }

  void send_one(const YamlNode& send, const YamlNode* expected) {
    if (!file_.check(send, {"to", "route", "body", "headers", "pattern"}, "send")) return;
    Exchange exchange;
    if (const YamlNode* body = send.find("body")) exchange.message.body = to_value(*body);
    for (const YamlEntry& header : entries(send.find("headers")))
      exchange.message.headers.set(header.name, to_value(header.value));
    const YamlNode* pattern = send.find("pattern");
    exchange.pattern =
        pattern && pattern->text == "InOnly" ? ExchangePattern::in_only : ExchangePattern::in_out;
    const YamlNode* to = send.find("to");
    const YamlNode* route = send.find("route");
    if ((to != nullptr) == (route != nullptr)) {
      file_.wrong(send.where, "send needs `to` (an endpoint) or `route` (the id of a route)");
      return;
    }
    const Exchange reply = to ? app_->engine().send_now(to->text, std::move(exchange))
                              : app_->engine().run_route_now(route->text, std::move(exchange));
    check_reply(reply, expected);
  }

  void check_reply(const Exchange& reply, const YamlNode* expected) {
    const YamlNode* error = expected ? expected->find("error") : nullptr;
    if (reply.failed() && !error) problem("the exchange failed: " + reply.error->message());
    if (!expected || !file_.check(*expected, {"body", "headers", "error", "message"}, "expect"))
      return;
    if (error && !reply.failed())
      problem("expected an error of kind " + error->text + ", the exchange ended well");
    if (error && reply.failed() && to_string(reply.error->kind) != error->text)
      problem("expected an error of kind " + error->text + ", got " +
              std::string(to_string(reply.error->kind)) + ": " + reply.error->message());
    const YamlNode* message = expected->find("message");
    if (message && (!reply.failed() || reply.error->what.find(message->text) == std::string::npos))
      problem("expected an error with the text '" + message->text + "'" +
              (reply.failed() ? ", got: " + reply.error->what : ", the exchange ended well"));
    if (const YamlNode* body = expected->find("body"))
      compare("body", to_value(*body), reply.message.body);
    for (const YamlEntry& header : entries(expected->find("headers"))) {
      const Value* found = reply.message.headers.find(header.name);
      compare("header " + header.name, to_value(header.value), found ? *found : Value());
    }
  }

  void compare(const std::string& what, const Value& expected, const Value& actual) {
    if (!matches_expected(expected, actual))
      problem("expected " + what + " " + to_json(expected) + ", got " +
              (actual.is_bytes() ? "'" + actual.to_text() + "'" : to_json(actual)));
  }

  void expect() {
    const YamlNode* expected = test_.find("expect");
    if (!expected || !file_.check(*expected, {"mocks", "routes", "log"}, "expect")) return;
    for (const YamlEntry& entry : entries(expected->find("mocks"))) {
      const Value description = to_value(entry.value);
      if (!description.is_object()) {
        file_.wrong(entry.value.where, "the expectations of a mock must be a map");
        continue;
      }
      const Result<void> taken = mock(entry.name).expect(*description.as_object());
      if (!taken) file_.wrong(entry.value.where, taken.error().message());
    }
    app_->engine().drive_until([&] { return problems_now(*expected).empty(); }, kPatience);
    for (std::string& text : problems_now(*expected)) problem(std::move(text));
  }

  std::vector<std::string> problems_now(const YamlNode& expected) {
    std::vector<std::string> out = mocks(app_->registry()).problems();
    for (const YamlEntry& route : entries(expected.find("routes"))) count_problems(route, out);
    for (const std::string& text : texts(expected.find("log")))
      if (!log_->contains(text)) out.push_back("no log line contains '" + text + "'");
    return out;
  }

  void count_problems(const YamlEntry& route, std::vector<std::string>& out) {
    const auto& routes = app_->engine().counters().routes();
    const auto found = routes.find(route.name);
    if (found == routes.end()) {
      out.push_back("no route has the id '" + route.name + "'");
      return;
    }
    const RouteCounters& c = found->second;
    for (const YamlEntry& count : route.value.entries) {
      std::optional<uint64_t> actual;
      if (count.name == "received") actual = c.received;
      if (count.name == "completed") actual = c.completed;
      if (count.name == "failed") actual = c.failed;
      if (count.name == "released") actual = c.released;
      if (count.name == "redelivered") actual = c.redelivered;
      if (!actual)
        out.push_back("'" + count.name + "' is no counter of a route");
      else if (count.value.text != std::to_string(*actual))
        out.push_back("route " + route.name + ": expected " + count.name + " " + count.value.text +
                      ", got " + std::to_string(*actual));
    }
  }

  TestFile& file_;
  const YamlNode& test_;
  Diagnostics& problems_;
  TestFolder folder_;
  std::shared_ptr<KeptLog> log_;
  std::unique_ptr<App> app_;
  RouteTestResult* result_ = nullptr;
};

}  // namespace

RouteTestReport run_route_tests(const std::string& file, const std::string& filter) {
  RouteTestReport report;
  Diagnostics problems;
  TestFile tests(file, problems);
  if (tests.read()) {
    for (const YamlNode& test : tests.tests()) {
      if (test.find("name")->text.find(filter) == std::string::npos) continue;
      RouteTestResult& result = report.results.emplace_back();
      TestRun run(tests, test, problems);
      run.run(result);
    }
  }
  report.errors = problems.render();
  return report;
}

}  // namespace drom
