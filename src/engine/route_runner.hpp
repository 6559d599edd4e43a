// The compiled body of one route: its pipeline, its error policy and its counters. Used by the
// route loop (pull sources) and by inline callers (direct). Shard thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  // May the next exchanges begin while earlier ones wait at the last step?
  bool pipelines() const { return pipeline_->pipelines(); }

  // Runs the batch to its end, error handling included.
  async<> run_batch(Batch& batch);
  // What failed at the last step of a route that pipelines.
  struct FailedSend {
    Exchange exchange;
    std::optional<Exchange> before;  // its copy for a redelivery
  };
  // Runs the batch to its end; moves what failed at its last step, and has an error handler, out
  // into `failed`, for recover().
  async<> run_to_send(Batch& batch, std::vector<FailedSend>& failed);
  async<> recover(FailedSend& failed);
  // An inline call: counted as received and completed here, since no loop does it.
  async<> run(Exchange& exchange) override;

  // Called once by the builder. `policy` is null for noErrorHandler.
  void set_body(std::unique_ptr<Pipeline> pipeline, std::unique_ptr<RoutePolicy> policy);

 private:
  Scope scope();
  void begin(Batch& batch);
  void report(const Exchange& exchange) const;

  std::string id_;
  BuildContext& context_;
  RouteCounters& counters_;
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<RoutePolicy> policy_;
  bool wants_original_ = false;
};

}  // namespace drom
