// An Exchange is one message on its way through one route, with its properties, its fate so far and
// its unit of work. It is moved, not copied; copy() is explicit (multicast, split, redelivery).
// Owned by the batch it is in; lives on one shard.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/base/time.hpp"
#include "drom/base/value.hpp"
#include "drom/model/headers.hpp"

namespace drom {

// A body that is read once, piece by piece; defined in rt/body_stream.hpp.
class BodyStream;

struct Message {
  Value body;
  Headers headers;
  std::shared_ptr<BodyStream> stream{};  // in place of `body`, for endpoints that pass streams on
};

// InOut: the sender waits for the message that the route leaves behind.
enum class ExchangePattern : uint8_t { in_only, in_out };

// Where the exchange stands. Only `running` exchanges are given to the next step.
enum class Flow : uint8_t {
  running,
  stopped,  // ended early and well: stop, handled error, duplicate skipped
  failed,   // carries an error that nobody has handled
};

// What the engine knows of an open unit of work; defined in rt/unit_of_work.hpp.
class UnitOfWork;

// Exchange properties and variables: names are case-sensitive, as in Camel.
using Properties = Object;

class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(Message m, ExchangePattern p = ExchangePattern::in_only)
      : message(std::move(m)), pattern(p) {}
  Exchange(Exchange&&) = default;
  Exchange& operator=(Exchange&&) = default;

  // A deep-enough copy: message, properties, variables, unit of work, ids. Not the error.
  Exchange copy() const;

  bool running() const { return flow == Flow::running; }
  bool failed() const { return flow == Flow::failed; }
  void fail(Error e) {
    error = std::make_unique<Error>(std::move(e));
    flow = Flow::failed;
  }
  void stop() { flow = Flow::stopped; }
  // The caught error becomes readable as ${exception.message}; the exchange runs again.
  void catch_error();

  Message message;
  Properties properties;
  Properties variables;
  ExchangePattern pattern = ExchangePattern::in_only;
  Flow flow = Flow::running;
  // An error handler has given up on this error: outer handlers do not redeliver it again.
  bool error_exhausted = false;
  uint16_t depth = 0;             // nested direct calls, bounded by the engine
  uint64_t delivery = 0;          // the consumer's own handle for settling
  std::unique_ptr<Error> error;   // set while failed
  std::unique_ptr<Error> caught;  // the last error that was handled; ${exception}
  UnitOfWork* unit = nullptr;     // not owned; null outside `transacted`
  uint64_t serial = 0;            // ${exchangeId} is the instance name and this number
  std::string key;                // order is kept per key; empty = no order asked for
  WallTime created{};
  // The message as the route received it; kept when an error handler asks for it.
  std::shared_ptr<const Message> original;
};

// The exchanges that walk through a step together.
using Batch = std::vector<Exchange>;

// Several exchanges of one unit of work: they share their fate, so they may share their trips.
bool shares_a_unit(const Batch& batch);

}  // namespace drom
