#include "engine/route_runner.hpp"

namespace drom {

void RouteRunner::set_body(std::unique_ptr<Pipeline> pipeline,
                           std::unique_ptr<RoutePolicy> policy) {
  pipeline_ = std::move(pipeline);
  policy_ = std::move(policy);
  wants_original_ = policy_ && policy_->wants_original();
}

Scope RouteRunner::scope() {
  return Scope{context_.clock(), context_.log(), context_.rng(), context_.env(), id_, {},
               policy_.get()};
}

async<> RouteRunner::run_batch(Batch& batch) {
  Scope inner = scope();
  // A message that a redelivered step has sent here starts afresh.
  for (Exchange& exchange : batch)
    if (!exchange.message.headers.empty()) forget_redelivery(exchange);
  if (wants_original_)
    for (Exchange& exchange : batch)
      exchange.original = std::make_shared<const Message>(exchange.message);
  co_await pipeline_->run(batch, inner);
  for (const Exchange& exchange : batch)
    if (exchange.failed() && !exchange.error_exhausted)
      inner.log.warn(id_, "failed at " + exchange.error->where + " [" +
                              std::string(to_string(exchange.error->kind)) +
                              "]: " + exchange.error->message());
}

async<> RouteRunner::run(Exchange& exchange) {
  ++counters_.received;
  Scope inner = scope();
  // Inside a unit of work an error must reach the transacted step: redelivery and handlers act
  // after the rollback, never inside the transaction.
  if (exchange.unit) inner.errors = nullptr;
  const std::shared_ptr<const Message> callers_original = exchange.original;
  if (wants_original_) exchange.original = std::make_shared<const Message>(exchange.message);
  Batch batch;
  batch.push_back(std::move(exchange));
  co_await pipeline_->run(batch, inner);
  exchange = std::move(batch.front());
  exchange.original = callers_original;
  ++(exchange.failed() ? counters_.failed : counters_.completed);
}

}  // namespace drom
