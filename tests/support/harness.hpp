// A BuildContext for unit tests: one io_context, a manual clock, a seeded Rng, a log that is kept,
// properties and environment from maps. Nothing here waits on real time unless real I/O does.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drom/rt/manual_clock.hpp"
#include "drom/spi/build_context.hpp"
#include "rt/lane.hpp"

namespace drom::testing {

class CapturedLog final : public Log {
 public:
  struct Line {
    LogLevel level;
    std::string category;
    std::string message;
  };
  bool enabled(LogLevel) const override { return true; }
  void write(LogLevel level, std::string_view category, std::string_view message) override {
    lines.push_back({level, std::string(category), std::string(message)});
  }
  bool contains(std::string_view text) const {
    for (const Line& line : lines)
      if (line.message.find(text) != std::string::npos) return true;
    return false;
  }
  std::vector<Line> lines;
};

class Harness : public BuildContext, public PropertySource, public EvalEnv {
 public:
  // Runs a coroutine to its end. Manual time moves on by itself whenever everything sleeps, so a
  // wait of an hour costs nothing; `time_limit` of virtual time guards against waiting for ever.
  template <class T>
  T run(async<T> work, milliseconds time_limit = std::chrono::hours(48)) {
    std::optional<T> out;
    std::exception_ptr failure;
    boost::asio::co_spawn(io_, store(std::move(work), out),
                          [&](std::exception_ptr e) { failure = e; });
    drive([&] { return out.has_value() || failure; }, time_limit);
    if (failure) std::rethrow_exception(failure);
    return std::move(*out);
  }
  void run(async<void> work, milliseconds time_limit = std::chrono::hours(48)) {
    bool done = false;
    std::exception_ptr failure;
    boost::asio::co_spawn(io_, std::move(work), [&](std::exception_ptr e) {
      failure = e;
      done = true;
    });
    drive([&] { return done; }, time_limit);
    if (failure) std::rethrow_exception(failure);
  }
  // Starts a coroutine beside the test; it goes on during later run() and settle() calls.
  void spawn(async<void> work) {
    boost::asio::co_spawn(io_, std::move(work), [](std::exception_ptr e) {
      if (e) std::rethrow_exception(e);
    });
  }
  // Runs everything that is ready, lanes included, without moving time.
  void settle() {
    io_.restart();
    io_.poll();
    while (lane_calls_in_flight(io_) > 0) {
      io_.run_one();
      io_.poll();
    }
  }
  // Moves manual time on in the steps that the sleepers ask for.
  void advance(milliseconds duration) {
    settle();
    while (true) {
      const auto due = manual_clock.next_due();
      if (!due || *due > duration) break;
      manual_clock.advance(*due);
      duration -= *due;
      settle();
    }
    manual_clock.advance(duration);
    settle();
  }
  // on_start / on_stop work that components registered, in order / in reverse order.
  Result<void> start() {
    for (auto& [name, work] : starts_) {
      Result<void> started = run(work());
      if (!started) return started;
    }
    return {};
  }
  void stop() {
    for (auto it = stops_.rbegin(); it != stops_.rend(); ++it) run(it->second());
    stops_.clear();
  }

  Scope scope(std::string_view route = "test") {
    return Scope{clock(), captured, random_, *this, route, "step", nullptr};
  }

  Registry& registry() override { return registry_; }
  const PropertySource& properties() const override { return *this; }
  Diagnostics& diagnostics() override { return problems; }
  Clock& clock() override {
    if (real_clock) return *real_clock;
    return manual_clock;
  }
  Log& log() override { return captured; }
  Rng& rng() override { return random_; }
  const EvalEnv& env() const override { return *this; }
  boost::asio::io_context& io() override { return io_; }
  std::string_view route_id() const override { return "test"; }
  void begin_unit(Unit unit) override { units_.push_back(unit != Unit::none); }
  void end_unit() override { units_.pop_back(); }
  bool in_unit() const override { return !units_.empty() && units_.back(); }
  void add_route(RouteSpec) override {}

  // Steps are made through the registry with their validated Config, as the engine does it.
  Step make_step(const StepSpec& spec) {
    const StepInfo* info = registry_.step(spec.name);
    DROM_ASSERT(info);
    const Config config = Config::validate(info->spec(), spec.options, spec.where, *this, problems);
    if (problems.has_errors()) return Step();
    Step step = info->make(spec, config, *this);
    step.id = spec.name;
    return step;
  }
  std::unique_ptr<Pipeline> build_pipeline(const std::vector<StepSpec>& specs) override {
    std::vector<Step> steps;
    for (const StepSpec& spec : specs) steps.push_back(make_step(spec));
    return std::make_unique<Pipeline>(std::move(steps));
  }
  // Endpoints and producers are those that the test has put here, by their exact URI.
  Endpoint* endpoint(const std::string& uri, const std::vector<OptionText>&,
                     const Location&) override {
    const auto it = endpoints.find(uri);
    return it == endpoints.end() ? nullptr : it->second;
  }
  Producer* producer(const std::string& uri, const std::vector<OptionText>&,
                     const Location& where) override {
    const auto it = producers.find(uri);
    if (it != producers.end()) return it->second;
    problems.error("E0000", where, "no producer for '" + uri + "' in the harness");
    return nullptr;
  }
  async<Result<Producer*>> dynamic_producer(const std::string& uri) override {
    const auto it = producers.find(uri);
    if (it == producers.end()) co_return Error(ErrorKind::config, "no producer for '" + uri + "'");
    co_return it->second;
  }
  void on_start(std::string name, std::function<async<Result<void>>()> work) override {
    starts_.emplace_back(std::move(name), std::move(work));
  }
  void on_stop(std::string name, std::function<async<>()> work) override {
    stops_.emplace_back(std::move(name), std::move(work));
  }

  std::optional<std::string> property(std::string_view key) const override {
    const auto it = property_map.find(key);
    return it == property_map.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<std::string> environment(std::string_view name) const override {
    const auto it = environment_map.find(name);
    return it == environment_map.end() ? std::nullopt : std::optional(it->second);
  }
  WallTime now() const override { return real_clock ? real_clock->wall() : manual_clock.wall(); }
  uint64_t random() const override { return random_.next(); }
  std::string_view instance() const override { return "test"; }

  std::map<std::string, std::string, std::less<>> property_map;
  std::map<std::string, std::string, std::less<>> environment_map;
  std::map<std::string, Endpoint*, std::less<>> endpoints;
  std::map<std::string, Producer*, std::less<>> producers;
  CapturedLog captured;
  Diagnostics problems;
  Clock* real_clock = nullptr;  // in place of the manual one, where the other side is real

 private:
  std::shared_ptr<void>& shared_slot(std::type_index type) override { return shared_[type]; }
  // co_spawn itself wants results that can be constructed from nothing.
  template <class T>
  static async<> store(async<T> work, std::optional<T>& out) {
    T value = co_await std::move(work);
    out.emplace(std::move(value));
  }
  template <class Done>
  void drive(Done done, milliseconds time_limit) {
    io_.restart();
    while (!done()) {
      if (io_.poll() > 0) continue;
      if (done()) break;
      const auto due = manual_clock.next_due();
      if (due && *due > time_limit) break;
      if (due && lane_calls_in_flight(io_) == 0) {
        time_limit -= *due;
        manual_clock.advance(*due);
        continue;
      }
      // Nobody sleeps: a socket or a lane must bring the next event.
      DROM_ASSERT(!io_.stopped());
      io_.run_one();
    }
    DROM_ASSERT(done());
  }

  boost::asio::io_context io_{1};
  Registry registry_;
  std::vector<bool> units_;
  mutable Rng random_{42};
  std::map<std::type_index, std::shared_ptr<void>> shared_;
  std::vector<std::pair<std::string, std::function<async<Result<void>>()>>> starts_;
  std::vector<std::pair<std::string, std::function<async<>()>>> stops_;

 public:
  ManualClock manual_clock{io_};
};

}  // namespace drom::testing
