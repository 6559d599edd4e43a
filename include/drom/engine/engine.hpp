// The engine: takes route specs, builds them into plans, runs them on one shard (one thread, the
// one that calls run()), stops them without losing a message. Construct, fill the registry, add
// specs, build(), then run() or start()/stop(). Not thread-safe except request_stop().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drom/rt/async.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"
#include "drom/spi/route_spec.hpp"

namespace drom {

class Counters;
class ManualClock;

struct EngineOptions {
  std::shared_ptr<const PropertySource> properties;  // null: none defined
  std::shared_ptr<Log> log;                          // null: text lines on standard error
  std::string instance;                              // prefix of exchange ids; empty: random
  std::vector<std::string> stub_schemes;  // taken by `stub` instead; "*" takes unknown ones
  milliseconds shutdown_timeout{30'000};  // then in-flight work is given back
  bool manual_time = false;               // `drom test`: time moves only when told
  uint64_t seed = 0;                      // 0: differs per process
};

class Engine {
 public:
  explicit Engine(EngineOptions options = {});
  ~Engine();  // stops first, when it runs
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Registry& registry();
  Diagnostics& diagnostics();
  const Counters& counters() const;
  Log& log();
  Clock& clock();
  ManualClock* manual_clock();  // null unless manual_time
  boost::asio::io_context& io();
  // What component and step makers see; tests use it to reach shared objects (mock endpoints).
  BuildContext& context();

  void add(ContextSpec spec);
  // Makes beans, endpoints and plans. False: nothing may start, see diagnostics(). Once.
  bool build();

  // Opens everything and starts all routes; returns when intake has begun. May wait for databases.
  async<Result<void>> start();
  // Stops intake, finishes or gives back what is in flight, closes. Idempotent.
  async<> stop();
  // The same, driving the shard from here: for programs and tests without a loop of their own.
  Result<void> start_now();
  void stop_now();
  // start, wait for SIGINT, SIGTERM or request_stop(), stop. The process exit code: 0 well ended,
  // 78 a configuration error found at the start, 1 work had to be abandoned. `end_early`, when
  // given, is asked twice a second and ends the run by true.
  int run(const std::function<bool()>& end_early = {});
  // From any thread and from signal handlers of your own.
  void request_stop();

  // Sends one exchange to an endpoint (`direct:orders`, `http://...`) and returns it as the target
  // left it; errors are on the exchange.
  async<Exchange> send(std::string uri, Exchange exchange);
  Exchange send_now(std::string uri, Exchange exchange);
  // Runs one exchange through the steps of a route, past its source: how tests feed routes whose
  // source is a socket or a broker. Fails with kind config when there is no such route.
  Exchange run_route_now(std::string_view id, Exchange exchange);
  // Drives the shard until `work` has ended.
  void run_now(async<> work);
  // Drives the shard until `ready` holds or `timeout` of the engine's clock has passed.
  bool drive_until(const std::function<bool()>& ready, milliseconds timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drom
