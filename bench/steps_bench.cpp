// What a step costs: a plain step (setHeader with a constant) and a waiting step (a coroutine that
// does not suspend), alone in a pipeline of ten, with batches of 1 and of 64. `per_step` is per
// exchange and step; `allocs` are allocations per exchange and run. Promise: below 100 ns per
// exchange and step.
#include <benchmark/benchmark.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdlib>
#include <new>

#include "drom/drom.hpp"
#include "support/harness.hpp"

namespace {
std::atomic<size_t> allocations{0};
}

void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace drom {
namespace {

constexpr int kSteps = 10;

class WaitingStep final : public AsyncProcessor {
 public:
  async<> run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) exchange.serial += 1;
    co_return;
  }
};

class PlainStep final : public Processor {
 public:
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) exchange.serial += 1;
  }
};

Step make_step(bool waiting) {
  if (waiting) return Step(std::unique_ptr<AsyncProcessor>(std::make_unique<WaitingStep>()));
  return Step(std::unique_ptr<Processor>(std::make_unique<PlainStep>()));
}

async<> loop(benchmark::State& state, Pipeline& pipeline, Batch& batch, Scope& scope,
             size_t& allocated) {
  const size_t before = allocations.load();
  for (auto _ : state) co_await pipeline.run(batch, scope);
  allocated = allocations.load() - before;
}

void walk(benchmark::State& state, bool waiting) {
  testing::Harness harness;
  std::vector<Step> steps;
  for (int i = 0; i < kSteps; ++i) steps.push_back(make_step(waiting));
  Pipeline pipeline(std::move(steps));
  Batch batch(static_cast<size_t>(state.range(0)));
  Scope scope = harness.scope();
  size_t allocated = 0;
  harness.run(loop(state, pipeline, batch, scope, allocated));
  const double runs = static_cast<double>(state.iterations()) * static_cast<double>(batch.size());
  state.counters["per_step"] =
      benchmark::Counter(runs * kSteps, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["allocs"] = static_cast<double>(allocated) / runs;
}

void BM_PlainStep(benchmark::State& state) { walk(state, false); }
void BM_WaitingStep(benchmark::State& state) { walk(state, true); }
BENCHMARK(BM_PlainStep)->Arg(1)->Arg(64);
BENCHMARK(BM_WaitingStep)->Arg(1)->Arg(64);

// Real steps: what a route of a header, a condition and a template pays.
void BM_RealSteps(benchmark::State& state) {
  EngineOptions options;
  options.manual_time = true;
  App app(options);
  app.routes()
      .from("direct:x")
      .set_header("kind", constant("order"))
      .filter(simple("${header.kind} == 'order'"),
              [](Steps& s) { s.set_property("seen", simple("${header.kind}")); });
  if (!app.build() || !app.engine().start_now()) {
    state.SkipWithError("the route does not start");
    return;
  }
  size_t allocated = allocations.load();
  for (auto _ : state) benchmark::DoNotOptimize(app.engine().send_now("direct:x", Exchange()));
  allocated = allocations.load() - allocated;
  state.counters["allocs"] =
      static_cast<double>(allocated) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_RealSteps);

}  // namespace
}  // namespace drom
