#include "engine/route_runner.hpp"

#include "drom/rt/body_stream.hpp"

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

void RouteRunner::begin(Batch& batch) {
  // A message that a redelivered step has sent here starts afresh.
  for (Exchange& exchange : batch)
    if (!exchange.message.headers.empty()) forget_redelivery(exchange);
  if (wants_original_)
    for (Exchange& exchange : batch)
      exchange.original = std::make_shared<const Message>(exchange.message);
}

void RouteRunner::report(const Exchange& exchange) const {
  if (!exchange.failed() || exchange.error_exhausted) return;
  context_.log().warn(id_, "failed at " + exchange.error->where + " [" +
                               std::string(to_string(exchange.error->kind)) +
                               "]: " + exchange.error->message());
}

async<> RouteRunner::run_batch(Batch& batch) {
  Scope inner = scope();
  if (wants_original_ && has_streams(batch)) co_await read_in(batch);
  begin(batch);
  co_await pipeline_->run(batch, inner);
  for (const Exchange& exchange : batch) report(exchange);
}

async<> RouteRunner::run_to_send(Batch& batch, std::vector<FailedSend>& failed) {
  Scope inner = scope();
  if (wants_original_ && has_streams(batch)) co_await read_in(batch);
  begin(batch);
  Batch before;
  co_await pipeline_->run_to_send(batch, before, inner);
  if (!policy_) {
    for (const Exchange& exchange : batch) report(exchange);
    co_return;
  }
  Batch ended;
  ended.reserve(batch.size());
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!batch[i].failed() || batch[i].error_exhausted) {
      ended.push_back(std::move(batch[i]));
      continue;
    }
    FailedSend& one = failed.emplace_back();
    one.exchange = std::move(batch[i]);
    if (!before.empty()) one.before = std::move(before[i]);
  }
  batch = std::move(ended);
}

async<> RouteRunner::recover(FailedSend& failed) {
  Scope inner = scope();
  const Exchange* const before = failed.before ? &*failed.before : nullptr;
  co_await policy_->handle(failed.exchange, before, pipeline_->steps().back(), inner);
  report(failed.exchange);
}

async<> RouteRunner::run(Exchange& exchange) {
  ++counters_.received;
  Scope inner = scope();
  // Inside a unit of work an error must reach the transacted step: redelivery and handlers act
  // after the rollback, never inside the transaction.
  if (exchange.unit) inner.errors = nullptr;
  const std::shared_ptr<const Message> callers_original = exchange.original;
  Batch batch;
  batch.push_back(std::move(exchange));
  if (wants_original_ && has_streams(batch)) co_await read_in(batch);
  if (wants_original_)
    batch.front().original = std::make_shared<const Message>(batch.front().message);
  co_await pipeline_->run(batch, inner);
  exchange = std::move(batch.front());
  exchange.original = callers_original;
  ++(exchange.failed() ? counters_.failed : counters_.completed);
}

}  // namespace drom
