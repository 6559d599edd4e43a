#include "drom/engine/engine.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <optional>

#include "drom/rt/body_stream.hpp"
#include "drom/rt/manual_clock.hpp"
#include "engine/builder.hpp"
#include "engine/rest_routes.hpp"
#include "observe/spd_log.hpp"
#include "rt/lane.hpp"
#include "rt/real_clock.hpp"

namespace drom {
namespace {

namespace asio = boost::asio;

constexpr int kExitConfig = 78;  // EX_CONFIG of sysexits.h
constexpr milliseconds kAbandonGrace{2'000};
constexpr milliseconds kWatchInterval{500};

class NoProperties final : public PropertySource {
 public:
  std::optional<std::string> property(std::string_view) const override { return std::nullopt; }
  std::optional<std::string> environment(std::string_view) const override { return std::nullopt; }
};

class EngineEnv final : public EvalEnv {
 public:
  EngineEnv(Clock& clock, Rng& rng, const PropertySource& properties, std::string instance)
      : clock_(clock), rng_(rng), properties_(properties), instance_(std::move(instance)) {}
  WallTime now() const override { return clock_.wall(); }
  uint64_t random() const override { return rng_.next(); }
  std::optional<std::string> environment(std::string_view name) const override {
    return properties_.environment(name);
  }
  std::optional<std::string> property(std::string_view key) const override {
    return resolved_property(properties_, key);
  }
  std::string_view instance() const override { return instance_; }

 private:
  Clock& clock_;
  Rng& rng_;
  const PropertySource& properties_;
  std::string instance_;
};

std::string instance_name(const EngineOptions& options, Rng& rng) {
  return options.instance.empty() ? "drom-" + rng.uuid().substr(0, 8) : options.instance;
}

}  // namespace

class Engine::Impl {
 public:
  explicit Impl(EngineOptions o)
      : options(std::move(o)),
        properties(options.properties ? options.properties : std::make_shared<NoProperties>()),
        log(options.log ? options.log
                        : std::shared_ptr<Log>(make_log(LogLevel::info, LogFormat::text))),
        the_clock(start_clock()),
        rng(options.seed ? options.seed : entropy_seed()),
        env(clock(), rng, *properties, instance_name(options, rng)),
        tasks(io, clock(), *log),
        builder(
            std::make_unique<Builder>(BuilderServices{io, clock(), *log, rng, env, *properties,
                                                      diagnostics, registry, stop_source, counters},
                                      options.stub_schemes)),
        stop_asked(clock().make_alarm()) {}

  Clock& clock() { return the_clock; }

  async<Result<void>> start();
  async<> stop();
  async<Result<void>> run_hooks(std::vector<Builder::Hook>& hooks);
  async<bool> wait_for_loops(bool internal, SteadyTime deadline);
  async<> stop_loops();
  Clock& start_clock() {
    if (!options.manual_time) return *(real = make_real_clock(io));
    return *(manual = std::make_unique<ManualClock>(io));
  }
  async<> wait_for_stop(std::function<bool()> end_early);
  async<Exchange> send(std::string uri, Exchange exchange);
  void attach_inline(Result<void>& result);
  template <class T>
  T drive(async<T> work);

  EngineOptions options;
  std::shared_ptr<const PropertySource> properties;
  std::shared_ptr<Log> log;
  // Before io: coroutines that still wait go with io, and wait on one of these.
  std::unique_ptr<ManualClock> manual;
  std::unique_ptr<Clock> real;
  asio::io_context io{1};
  Clock& the_clock;
  Rng rng;
  EngineEnv env;
  Registry registry;
  Diagnostics diagnostics;
  Counters counters;
  StopSource stop_source;
  TaskGroup tasks;
  std::unique_ptr<Builder> builder;
  ContextSpec spec;
  std::vector<BuiltRoute> routes;
  std::vector<std::unique_ptr<RouteLoop>> loops;
  std::unique_ptr<Alarm> stop_asked;
  std::optional<Error> fatal;
  uint64_t serial = 0;
  bool built = false, started = false, stopped = false, abandoned = false;
};

async<Result<void>> Engine::Impl::run_hooks(std::vector<Builder::Hook>& hooks) {
  for (Builder::Hook& hook : hooks) {
    Result<void> started_hook = co_await hook.work();
    if (!started_hook) {
      Error error = started_hook.error();
      error.what = hook.name + ": " + error.what;
      co_return error;
    }
  }
  co_return Result<void>();
}

void Engine::Impl::attach_inline(Result<void>& result) {
  for (BuiltRoute& route : routes) {
    if (!route.inline_consumer || !route.auto_startup) continue;
    Result<void> attached = route.inline_consumer->attach(*route.runner);
    if (!attached) {
      result = attached;
      return;
    }
    route.runner->counters().state = RouteState::started;
  }
}

async<Result<void>> Engine::Impl::start() {
  DROM_ASSERT(built);
  if (started) co_return Result<void>();
  started = true;
  Result<void> result = co_await run_hooks(builder->bean_starts());
  if (!result) co_return result;
  for (auto& [key, entry] : builder->producers()) {
    result = co_await builder->open_producer(entry);
    if (!result) co_return result;
  }
  attach_inline(result);
  if (!result) co_return result;
  result = co_await run_hooks(builder->starts());
  if (!result) co_return result;
  for (BuiltRoute& route : routes) {
    if (!route.consumer || !route.auto_startup) continue;
    LoopServices services{
        clock(), *log, rng, tasks, stop_source, serial, [this](const Error& error) {
          if (!fatal) fatal = error;
          stop_asked->ring();
        }};
    loops.push_back(std::make_unique<RouteLoop>(std::move(services), *route.runner,
                                                std::move(route.consumer), route.uri));
    tasks.spawn(loops.back()->route_id(), loops.back()->run());
  }
  co_return result;
}

async<bool> Engine::Impl::wait_for_loops(bool internal, SteadyTime deadline) {
  while (true) {
    bool all_done = true;
    for (const auto& loop : loops)
      all_done = all_done && (loop->done() || loop->internal() != internal);
    if (all_done) co_return true;
    if (clock().steady() >= deadline) co_return false;
    co_await clock().sleep(milliseconds(5));
  }
}

async<> Engine::Impl::stop_loops() {
  const SteadyTime deadline = clock().steady() + options.shutdown_timeout;
  bool in_time = true;
  // Sources outside first; what they left in internal queues is worked off after them.
  for (const bool internal : {false, true}) {
    for (const auto& loop : loops)
      if (loop->internal() == internal) loop->stop();
    const bool done = co_await wait_for_loops(internal, deadline);
    in_time = in_time && done;
  }
  if (in_time) co_return;
  abandoned = true;
  for (const auto& loop : loops)
    if (!loop->done())
      log->error(loop->route_id(), "abandoned " + std::to_string(loop->in_flight()) +
                                       " exchanges in flight at the shutdown timeout; their "
                                       "sources will deliver them again");
  stop_source.abandon();
}

async<> Engine::Impl::stop() {
  if (stopped || !started) co_return;
  stopped = true;
  for (auto& [id, route] : counters.routes())
    if (route.state != RouteState::off) route.state = RouteState::stopped;
  stop_source.stop();
  co_await stop_loops();
  const milliseconds grace = abandoned ? kAbandonGrace : milliseconds(1'000);
  const bool ended = co_await tasks.wait(grace);
  if (!ended) {
    tasks.cancel();
    co_await tasks.wait(grace);
  }
  for (BuiltRoute& route : routes)
    if (route.inline_consumer) route.inline_consumer->detach();
  for (auto& [key, entry] : builder->producers())
    if (entry.open) co_await entry.producer->close();
  std::vector<Builder::StopHook>& hooks = builder->stops();
  for (auto hook = hooks.rbegin(); hook != hooks.rend(); ++hook) co_await hook->work();
}

namespace {
// co_spawn itself wants results that can be constructed from nothing.
template <class T>
async<> store(async<T> work, std::optional<T>& out) {
  T value = co_await std::move(work);
  out.emplace(std::move(value));
}
}  // namespace

// Drives the shard from outside it until `work` has ended. Manual time moves by itself, as nobody
// else moves it meanwhile.
template <class T>
T Engine::Impl::drive(async<T> work) {
  std::optional<T> out;
  std::exception_ptr failure;
  bool done = false;
  asio::co_spawn(io, store(std::move(work), out), [&](std::exception_ptr e) {
    failure = e;
    done = true;
  });
  io.restart();
  while (!done) {
    if (manual && io.poll_one() == 0) {
      const auto due = manual->next_due();
      if (due && lane_calls_in_flight(io) == 0) {
        manual->advance(*due);
      } else {
        io.run_one();
      }
    } else if (!manual) {
      io.run_one();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return std::move(*out);
}

async<Exchange> Engine::Impl::send(std::string uri, Exchange exchange) {
  Result<Producer*> producer = co_await builder->dynamic_producer(uri);
  if (!producer) {
    exchange.fail(producer.error());
    co_return exchange;
  }
  exchange.serial = ++serial;
  exchange.created = clock().wall();
  Scope scope{clock(), *log, rng, env, "send", "send", nullptr};
  co_await run_one(**producer, exchange, scope);
  if (exchange.running() && exchange.message.stream) {
    Result<void> read = co_await read_in(exchange.message);
    if (!read) exchange.fail(std::move(read.error()));
  }
  co_return exchange;
}

Engine::Engine(EngineOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Engine::~Engine() {
  if (impl_->started && !impl_->stopped) stop_now();
  // A task that would not end even when cancelled still refers to all this: leaking beats a crash.
  if (impl_->tasks.empty()) return;
  [[maybe_unused]] const Impl* const left = impl_.release();
}

Registry& Engine::registry() { return impl_->registry; }
Diagnostics& Engine::diagnostics() { return impl_->diagnostics; }
const Counters& Engine::counters() const { return impl_->counters; }
Log& Engine::log() { return *impl_->log; }
Clock& Engine::clock() { return impl_->clock(); }
ManualClock* Engine::manual_clock() { return impl_->manual.get(); }
asio::io_context& Engine::io() { return impl_->io; }
BuildContext& Engine::context() { return *impl_->builder; }

void Engine::add(ContextSpec more) {
  ContextSpec& spec = impl_->spec;
  const auto append = [](auto& to, auto& from) {
    for (auto& item : from) to.push_back(std::move(item));
  };
  append(spec.routes, more.routes);
  append(spec.configurations, more.configurations);
  append(spec.beans, more.beans);
  append(spec.on_exceptions, more.on_exceptions);
  if (!more.error_handler.name.empty()) spec.error_handler = std::move(more.error_handler);
  append(spec.rests, more.rests);
  if (!more.rest_configuration.name.empty()) {
    if (!spec.rest_configuration.name.empty())
      impl_->diagnostics.error("E0315", more.rest_configuration.where, "a second restConfiguration",
                               "the first is at " + spec.rest_configuration.where.text());
    spec.rest_configuration = std::move(more.rest_configuration);
  }
}

bool Engine::build() {
  DROM_ASSERT(!impl_->built);
  impl_->built = true;
  expand_rests(impl_->spec, *impl_->properties, impl_->diagnostics);
  impl_->routes = impl_->builder->build(impl_->spec);
  for (BuiltRoute& route : impl_->routes)
    if (route.auto_startup && route.runner) route.runner->counters().state = RouteState::starting;
  return !impl_->diagnostics.has_errors();
}

async<Result<void>> Engine::start() { return impl_->start(); }
async<> Engine::stop() { return impl_->stop(); }

Result<void> Engine::start_now() { return impl_->drive(impl_->start()); }

namespace {
async<bool> then_true(async<> work) {
  co_await std::move(work);
  co_return true;
}
}  // namespace

void Engine::stop_now() { impl_->drive(then_true(impl_->stop())); }
void Engine::run_now(async<> work) { impl_->drive(then_true(std::move(work))); }

Exchange Engine::send_now(std::string uri, Exchange exchange) {
  return impl_->drive(impl_->send(std::move(uri), std::move(exchange)));
}

namespace {
async<Exchange> run_entry(RouteRunner& runner, Exchange exchange) {
  co_await runner.run(exchange);
  co_return exchange;
}
}  // namespace

Exchange Engine::run_route_now(std::string_view id, Exchange exchange) {
  for (BuiltRoute& route : impl_->routes) {
    if (route.runner->id() != id) continue;
    exchange.serial = ++impl_->serial;
    exchange.created = clock().wall();
    return impl_->drive(run_entry(*route.runner, std::move(exchange)));
  }
  exchange.fail(Error(ErrorKind::config, "no route has the id '" + std::string(id) + "'"));
  return exchange;
}

async<Exchange> Engine::send(std::string uri, Exchange exchange) {
  return impl_->send(std::move(uri), std::move(exchange));
}

bool Engine::drive_until(const std::function<bool()>& ready, milliseconds timeout) {
  const SteadyTime deadline = clock().steady() + timeout;
  asio::io_context& io = impl_->io;
  io.restart();
  while (!ready()) {
    if (io.poll_one() > 0) continue;
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock().steady());
    if (left.count() <= 0) return ready();
    if (!impl_->manual) {
      io.run_one_for(std::min(left, milliseconds(50)));
      continue;
    }
    if (lane_calls_in_flight(io) > 0) {
      io.run_one_for(milliseconds(50));
      continue;
    }
    const auto due = impl_->manual->next_due();
    if (due && *due <= left) {
      impl_->manual->advance(*due);
    } else {
      // Nothing more is due within the time asked for.
      impl_->manual->advance(left);
    }
  }
  return true;
}

async<> Engine::Impl::wait_for_stop(std::function<bool()> end_early) {
  const milliseconds interval = end_early ? kWatchInterval : milliseconds::max();
  while (!fatal) {
    const bool asked = co_await stop_asked->wait(interval);
    if (asked || (end_early && end_early())) break;
  }
}

int Engine::run(const std::function<bool()>& end_early) {
  // Before anything serves: whoever sees us serve may ask us to stop. A second signal ends the
  // process at once, by the default action.
  asio::signal_set signals(impl_->io, SIGINT, SIGTERM);
  signals.async_wait([this, &signals](boost::system::error_code ec, int) {
    if (ec) return;
    signals.clear();
    impl_->stop_asked->ring();
  });
  const Result<void> result = start_now();
  if (!result) {
    impl_->log->error("drom", "cannot start: " + result.error().message());
    stop_now();
    return result.error().kind == ErrorKind::config ? kExitConfig : 1;
  }
  impl_->drive(then_true(impl_->wait_for_stop(end_early)));
  if (impl_->fatal) {
    impl_->log->error("drom", "stopping: " + impl_->fatal->message());
  } else {
    impl_->log->info("drom", "stopping: finishing what is in flight");
  }
  signals.cancel();
  signals.clear();
  stop_now();
  if (impl_->fatal) return impl_->fatal->kind == ErrorKind::config ? kExitConfig : 1;
  if (!impl_->abandoned) impl_->log->info("drom", "stopped");
  return impl_->abandoned ? 1 : 0;
}

void Engine::request_stop() {
  asio::post(impl_->io, [impl = impl_.get()] { impl->stop_asked->ring(); });
}

}  // namespace drom
