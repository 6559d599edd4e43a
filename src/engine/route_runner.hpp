// The compiled body of one route: its pipeline, its error policy and its counters. Used by the
// route loop (pull sources) and by inline callers (direct). Shard thread only.
#pragma once

#include <memory>
#include <string>

#include "drom/spi/build_context.hpp"
#include "drom/spi/endpoint.hpp"
#include "engine/error_policy.hpp"

namespace drom {

class RouteRunner final : public RouteEntry {
 public:
  RouteRunner(std::string id, BuildContext& context, RouteCounters& counters)
      : id_(std::move(id)), context_(context), counters_(counters) {}

  std::string_view route_id() const override { return id_; }
  const std::string& id() const { return id_; }
  RouteCounters& counters() { return counters_; }
  // May a whole polled batch walk through together? Only when no step has effects of its own, or
  // those that have some ask for batches (transacted with `batch`).
  bool batchwise() const { return pipeline_->takes_batches(); }

  // Runs the batch to its end, error handling included.
  async<> run_batch(Batch& batch);
  // An inline call: counted as received and completed here, since no loop does it.
  async<> run(Exchange& exchange) override;

  // Called once by the builder. `policy` is null for noErrorHandler.
  void set_body(std::unique_ptr<Pipeline> pipeline, std::unique_ptr<RoutePolicy> policy);

 private:
  Scope scope();

  std::string id_;
  BuildContext& context_;
  RouteCounters& counters_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<RoutePolicy> policy_;
  bool wants_original_ = false;
};

}  // namespace drom
