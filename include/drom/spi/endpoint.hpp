// What a connector implements. A Component makes Endpoints from URIs; an Endpoint makes Consumers
// (sources of a route) and Producers (targets of `to`). The engine owns reconnecting, backoff,
// concurrency, metrics and stopping. All calls come from the endpoint's shard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/async.hpp"
#include "drom/spi/processor.hpp"

namespace drom {

enum class Outcome : uint8_t {
  done,      // the route ended well, or its error was handled
  failed,    // the route ended with exchange.error set
  released,  // never attempted, or given up while stopping: deliver again
};

struct Receipt {
  Exchange exchange;  // as the route left it; the reply of an InOut exchange is its message
  Outcome outcome = Outcome::released;
};

// How many exchanges of one consumer may be on their way at once, and whether exchanges with equal
// Exchange::key must keep their order (the engine then never runs two of one key at once, and
// releases the later ones of a key in the same poll when an earlier one fails).
struct ConsumerTraits {
  size_t in_flight_max = 1;
  bool keyed = false;
  size_t poll_max = 1;  // exchanges asked for in one poll
  // In place of in_flight_max (when larger) on a route whose only waiting step is its last one and
  // pipelines: exchanges still begin in the order in which they were polled.
  size_t window = 1;
  // Fed by other routes of this process (seda): stopped after the others, and polled until an empty
  // batch says that nothing is left.
  bool internal = false;
};

class Consumer {
 public:
  virtual ~Consumer() = default;
  virtual ConsumerTraits traits() const { return {}; }
  // Connects, creates what is needed. On failure the engine tries again with backoff, unless the
  // error kind is config. May be called again after close().
  virtual async<Result<void>> open() = 0;
  // Waits until something is there, at most `max` exchanges. An empty batch is fine ("look again")
  // and is the answer after stop(). ErrorKind::not_connected makes the engine close and reopen.
  // After an error the source counts as not ready until a poll or an open() works: a source that
  // looks from time to time answers each look, with an empty batch when it has found nothing.
  virtual async<Result<Batch>> poll(size_t max) = 0;
  // Acknowledges, replies, or gives back. Called once per polled exchange, in batches, any order.
  virtual async<Result<void>> settle(std::vector<Receipt> receipts) = 0;
  // No new intake; a waiting poll() returns soon. In-flight exchanges are settled afterwards.
  // Idempotent, any time after construction.
  virtual void stop() = 0;
  virtual async<> close() = 0;
};

// The body of a route as an inline call, for sources that have no queue of their own (direct).
class RouteEntry {
 public:
  virtual ~RouteEntry() = default;
  virtual std::string_view route_id() const = 0;
  // Runs the exchange through the route, error handling included.
  virtual async<> run(Exchange& exchange) = 0;
};

// A consumer that is called instead of polled. The entry is valid from attach() until detach().
class InlineConsumer {
 public:
  virtual ~InlineConsumer() = default;
  virtual Result<void> attach(RouteEntry& entry) = 0;
  virtual void detach() = 0;
};

class Producer : public AsyncProcessor {
 public:
  // Called once before the route starts and after close(); a failure with a retryable kind does not
  // stop the start, the producer connects on use.
  virtual async<Result<void>> open() { co_return Result<void>(); }
  virtual async<> close() { co_return; }
  // The data source whose transaction its work joins; empty: none.
  virtual std::string data_source() const { return {}; }
  // True when a send inside `transacted` must wait for the commit (an effect outside the database
  // that expects no reply).
  virtual bool defers_in_transaction() const { return false; }
  // True when it must wait only if the step says that no reply is wanted (`pattern: InOnly`).
  virtual bool defers_when_in_only() const { return false; }
};

class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // The canonical URI without secrets, for logs and metrics.
  virtual std::string uri() const = 0;
  // What a route that starts here takes from: endpoints with other options may have the same
  // source.
  virtual std::string source() const { return uri(); }
  // Exactly one of the two kinds of consumer; both null with a config error: not a source.
  virtual Result<std::unique_ptr<Consumer>> make_consumer();
  virtual std::unique_ptr<InlineConsumer> make_inline_consumer() { return nullptr; }
  virtual Result<std::unique_ptr<Producer>> make_producer();
  // Called once when all routes are built and nothing has started: a config error here (nobody
  // serves this name) stops the start.
  virtual Result<void> verify() const { return {}; }
};

}  // namespace drom
