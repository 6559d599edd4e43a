#include "engine/error_policy.hpp"

#include <charconv>
#include <cmath>

#include "drom/rt/body_stream.hpp"
#include "spi/exception_match.hpp"

namespace drom {
namespace {

LogLevel parse_level(std::string_view text) {
  for (const auto& [name, level] :
       {std::pair{"TRACE", LogLevel::trace}, std::pair{"DEBUG", LogLevel::debug},
        std::pair{"INFO", LogLevel::info}, std::pair{"WARN", LogLevel::warn},
        std::pair{"ERROR", LogLevel::error}})
    if (iequals(text, name)) return level;
  return LogLevel::off;
}

// "5:1000;10:5000"
bool parse_pattern(std::string_view text, std::vector<std::pair<int64_t, milliseconds>>& out) {
  while (!text.empty()) {
    const std::string_view group = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), group.size() + 1));
    const size_t colon = group.find(':');
    if (colon == std::string_view::npos) return false;
    int64_t from = 0;
    const std::string number(group.substr(0, colon));
    const char* const last = number.c_str() + number.size();
    const auto [end, error] = std::from_chars(number.c_str(), last, from);
    const Result<milliseconds> wait = parse_duration(group.substr(colon + 1));
    if (error != std::errc() || end != last || !wait) return false;
    if (!out.empty() && from <= out.back().first) return false;
    out.emplace_back(from, *wait);
  }
  return true;
}

bool holds(const ExpressionPtr& predicate, const Exchange& exchange, const Scope& scope) {
  if (!predicate) return false;
  const Result<bool> result = predicate->matches(exchange, scope.eval());
  return result.ok() && *result;
}

void restore_original(Exchange& exchange, bool message, bool body) {
  if (!exchange.original) return;
  if (message) exchange.message = *exchange.original;
  if (!body) return;
  exchange.message.body = exchange.original->body;
  exchange.message.stream = nullptr;
}

std::string attempts_text(int64_t attempts) {
  return attempts == 0 ? std::string() : " after " + std::to_string(attempts) + " redeliveries";
}

}  // namespace

void forget_redelivery(Exchange& exchange) {
  for (const char* name :
       {"CamelRedelivered", "CamelRedeliveryCounter", "CamelRedeliveryMaxCounter"})
    exchange.message.headers.erase(name);
}

milliseconds redelivery_delay(const RedeliveryPolicy& policy, int64_t attempt, Rng& rng) {
  if (!policy.pattern.empty()) {
    milliseconds out{0};
    for (const auto& [from, wait] : policy.pattern)
      if (attempt >= from) out = wait;
    return out;
  }
  double ms = static_cast<double>(policy.delay.count());
  const double limit = static_cast<double>(policy.delay_max.count());
  if (policy.exponential) ms *= std::pow(policy.multiplier, static_cast<double>(attempt - 1));
  ms = std::min(ms, limit);
  if (policy.collision_avoidance) {
    const double spread = static_cast<double>(rng.between(-1'000'000, 1'000'000)) / 1e6;
    ms = std::min(ms * (1 + spread * policy.collision_factor), limit);
  }
  return milliseconds(static_cast<int64_t>(std::max(ms, 0.0)));
}

RedeliveryPolicy redelivery_policy(const Config& config, RedeliveryPolicy base,
                                   Diagnostics& diagnostics) {
  const std::string p = "redeliveryPolicy.";
  const auto has = [&](const char* name) { return config.has(p + name); };
  if (has("maximumRedeliveries"))
    base.maximum_redeliveries = config.integer(p + "maximumRedeliveries");
  if (has("redeliveryDelay")) base.delay = config.duration(p + "redeliveryDelay");
  if (has("maximumRedeliveryDelay")) base.delay_max = config.duration(p + "maximumRedeliveryDelay");
  if (has("useExponentialBackOff")) base.exponential = config.flag(p + "useExponentialBackOff");
  if (has("backOffMultiplier")) base.multiplier = config.number(p + "backOffMultiplier");
  if (has("useCollisionAvoidance"))
    base.collision_avoidance = config.flag(p + "useCollisionAvoidance");
  if (has("collisionAvoidanceFactor"))
    base.collision_factor = config.number(p + "collisionAvoidanceFactor");
  if (has("allowRedeliveryWhileStopping"))
    base.while_stopping = config.flag(p + "allowRedeliveryWhileStopping");
  if (has("retriesExhaustedLogLevel"))
    base.exhausted_level = parse_level(config.text(p + "retriesExhaustedLogLevel"));
  if (has("retryAttemptedLogLevel"))
    base.retry_level = parse_level(config.text(p + "retryAttemptedLogLevel"));
  if (has("logExhausted") && !config.flag(p + "logExhausted")) base.exhausted_level = LogLevel::off;
  if (has("logRetryAttempted") && !config.flag(p + "logRetryAttempted"))
    base.retry_level = LogLevel::off;
  if (has("delayPattern")) {
    base.pattern.clear();
    if (!parse_pattern(config.text(p + "delayPattern"), base.pattern))
      diagnostics.error("E0413", config.where(p + "delayPattern"),
                        "'" + config.text(p + "delayPattern") + "' is no delay pattern",
                        "write attempt:milliseconds pairs in rising order, such as 5:1000;10:5000");
  }
  return base;
}

bool RoutePolicy::redelivers() const {
  if (redelivery.maximum_redeliveries != 0) return true;
  for (const Clause& clause : clauses)
    if (clause.redelivery.maximum_redeliveries != 0 || clause.retry_while) return true;
  return false;
}

bool RoutePolicy::wants_original() const {
  if (dead_letter && (dead_letter->use_original_message || dead_letter->use_original_body))
    return true;
  for (const Clause& clause : clauses)
    if (clause.use_original_message || clause.use_original_body) return true;
  return false;
}

const RoutePolicy::Clause* RoutePolicy::match(const Exchange& exchange, const Scope& scope) const {
  const Clause* best = nullptr;
  int best_distance = INT_MAX;
  for (const Clause& clause : clauses) {
    std::optional<int> distance;
    for (const std::string& name : clause.exceptions) {
      const std::optional<int> d = exception_distance(name, *exchange.error);
      if (d && (!distance || *d < *distance)) distance = d;
    }
    if (!distance || *distance >= best_distance) continue;
    if (clause.on_when && !holds(clause.on_when, exchange, scope)) continue;
    best = &clause;
    best_distance = *distance;
  }
  return best;
}

async<> RoutePolicy::handle(Exchange& exchange, const Exchange* before, Step& step, Scope& scope) {
  Scope inner = scope;
  inner.errors = nullptr;
  int64_t attempts = 0;
  while (true) {
    if (exchange.error->kind == ErrorKind::cancelled) {
      exchange.error_exhausted = true;
      co_return;
    }
    // The clause is looked for again after each attempt: the error may have become another one.
    const Clause* const clause = match(exchange, inner);
    const RedeliveryPolicy& policy = clause ? clause->redelivery : redelivery;
    const bool again = clause && clause->retry_while ? holds(clause->retry_while, exchange, inner)
                                                     : policy.maximum_redeliveries < 0 ||
                                                           attempts < policy.maximum_redeliveries;
    // A stream of which something has been read cannot be sent a second time.
    const bool possible = before && (!before->message.stream || before->message.stream->rewind());
    if (!again || !possible) {
      co_await exhausted(exchange, clause, attempts, inner);
      co_return;
    }
    ++attempts;
    milliseconds wait = redelivery_delay(policy, attempts, inner.rng);
    if (exchange.error->retry_after) wait = std::max(wait, *exchange.error->retry_after);
    if (inner.log.enabled(policy.retry_level) && policy.retry_level != LogLevel::off)
      inner.log.write(policy.retry_level, inner.route,
                      "redelivery " + std::to_string(attempts) + " of step " + step.id + " in " +
                          to_string(wait) + ": " + exchange.error->message());
    const bool slept = co_await stop_.sleep(inner.clock, wait, policy.while_stopping);
    if (!slept) {
      exchange.fail(Error(ErrorKind::cancelled,
                          "stopped while waiting for a redelivery: " + exchange.error->what));
      exchange.error_exhausted = true;
      co_return;
    }
    ++counters_.redelivered;
    exchange = before->copy();
    exchange.message.headers.set("CamelRedelivered", true);
    exchange.message.headers.set("CamelRedeliveryCounter", attempts);
    exchange.message.headers.set("CamelRedeliveryMaxCounter", policy.maximum_redeliveries);
    co_await run_one(step, exchange, inner);
    if (!exchange.failed()) {
      forget_redelivery(exchange);
      co_return;
    }
  }
}

async<> RoutePolicy::exhausted(Exchange& exchange, const Clause* clause, int64_t attempts,
                               Scope& scope) {
  const bool handled = clause && holds(clause->handled, exchange, scope);
  const bool continued = clause && holds(clause->continued, exchange, scope);
  const RedeliveryPolicy& policy = clause ? clause->redelivery : redelivery;
  const bool quiet = handled || continued || (!clause && dead_letter);
  const LogLevel level = quiet ? LogLevel::debug : policy.exhausted_level;
  if (level != LogLevel::off && scope.log.enabled(level))
    scope.log.write(level, scope.route,
                    "gave up at " + exchange.error->where + attempts_text(attempts) + " [" +
                        std::string(to_string(exchange.error->kind)) +
                        "]: " + exchange.error->message() + " (exchange " +
                        std::string(scope.env.instance()) + "-" + std::to_string(exchange.serial) +
                        ")");
  if (!clause && !dead_letter) {
    exchange.error_exhausted = true;
    co_return;
  }
  const Error original = *exchange.error;
  exchange.catch_error();
  exchange.properties.set("CamelExceptionCaught", original.what);
  exchange.properties.set("CamelFailureRouteId", scope.route);
  if (clause) {
    restore_original(exchange, clause->use_original_message, clause->use_original_body);
    if (clause->steps) {
      Batch batch;
      batch.push_back(std::move(exchange));
      co_await clause->steps->run(batch, scope);
      exchange = std::move(batch.front());
    }
    // An error inside the handler is the new error of the exchange (Camel: fatal fallback handler).
    if (exchange.failed()) {
      exchange.error_exhausted = true;
      co_return;
    }
    if (handled) {
      exchange.stop();
      co_return;
    }
    if (continued) {
      exchange.flow = Flow::running;
      co_return;
    }
    if (!dead_letter) {
      exchange.fail(original);
      exchange.error_exhausted = true;
      co_return;
    }
  }
  co_await send_dead_letter(exchange, scope);
  if (!exchange.failed()) {
    exchange.stop();
    co_return;
  }
  // Camel swallows this; we keep the message with its source instead.
  ++counters_.dead_letter_failed;
  Error kept = original;
  kept.what +=
      "; and the dead letter endpoint " + dead_letter->uri + " failed: " + exchange.error->what;
  scope.log.error(scope.route, kept.what);
  exchange.fail(std::move(kept));
  exchange.error_exhausted = true;
}

async<> RoutePolicy::send_dead_letter(Exchange& exchange, Scope& scope) {
  restore_original(exchange, dead_letter->use_original_message, dead_letter->use_original_body);
  co_await run_one(*dead_letter->producer, exchange, scope);
}

}  // namespace drom
