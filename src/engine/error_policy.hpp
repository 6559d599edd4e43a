// What happens when a step fails: redelivery of that step, then the closest onException clause,
// then the route's error handler (Camel's semantics, facts in docs/guide/errors). One policy per
// route; owns the pipelines of its clauses. Shard thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drom/spi/build_context.hpp"
#include "drom/spi/processor.hpp"
#include "observe/counters.hpp"
#include "rt/stop_source.hpp"

namespace drom {

// Camel's RedeliveryPolicy.
struct RedeliveryPolicy {
  int64_t maximum_redeliveries = 0;  // -1: without end
  milliseconds delay{1000};
  milliseconds delay_max{60'000};
  bool exponential = false;
  double multiplier = 2;
  bool collision_avoidance = false;
  double collision_factor = 0.15;
  std::vector<std::pair<int64_t, milliseconds>> pattern;  // from this redelivery on: this wait
  bool while_stopping = true;
  LogLevel exhausted_level = LogLevel::error;
  LogLevel retry_level = LogLevel::debug;
};

// The wait before redelivery `attempt` (from 1). Saturates; never above delay_max.
milliseconds redelivery_delay(const RedeliveryPolicy& policy, int64_t attempt, Rng& rng);

// Drops the headers that tell a step of its redelivery: they must not travel on with the message.
void forget_redelivery(Exchange& exchange);

// Options given in `config` over `base`. Reports a wrong delayPattern.
RedeliveryPolicy redelivery_policy(const Config& config, RedeliveryPolicy base,
                                   Diagnostics& diagnostics);

class RoutePolicy final : public ErrorPolicy {
 public:
  struct Clause {
    std::vector<std::string> exceptions;
    ExpressionPtr on_when, handled, continued, retry_while;
    bool use_original_message = false;
    bool use_original_body = false;
    RedeliveryPolicy redelivery;
    std::unique_ptr<Pipeline> steps;
  };
  struct DeadLetter {
    Producer* producer = nullptr;  // owned by the engine
    std::string uri;
    bool use_original_message = false;
    bool use_original_body = false;
  };

  // `stop` and `counters` outlive the policy.
  RoutePolicy(StopSource& stop, RouteCounters& counters) : stop_(stop), counters_(counters) {}

  bool redelivers() const override;
  async<> handle(Exchange& exchange, const Exchange* before, Step& step, Scope& scope) override;
  // Some clause wants the message as the route received it.
  bool wants_original() const;

  // Filled by the builder; nearest first: the route's own clauses, its configurations', the
  // context's.
  std::vector<Clause> clauses;
  RedeliveryPolicy redelivery;
  std::optional<DeadLetter> dead_letter;

 private:
  const Clause* match(const Exchange& exchange, const Scope& scope) const;
  async<> exhausted(Exchange& exchange, const Clause* clause, int64_t attempts, Scope& scope);
  async<> send_dead_letter(Exchange& exchange, Scope& scope);

  StopSource& stop_;
  RouteCounters& counters_;
};

}  // namespace drom
