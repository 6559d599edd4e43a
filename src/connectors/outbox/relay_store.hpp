// Where a relay's rows and leases live: the trips that its machine asks for, each of which happens
// as a whole or not at all. The one contract for all stores (SQL databases, the simulated one).
// One trip at a time; shard thread.
#pragma once

#include "drom/rt/async.hpp"
#include "machines/outbox_relay.hpp"

namespace drom::outbox {

class RelayStore {
 public:
  virtual ~RelayStore() = default;

  // Before the first trip; finds out what guards this outbox.
  virtual async<Result<void>> open() = 0;
  // True when something stronger than leases decides who is the relay, so that they may be long.
  virtual bool guarded() const = 0;
  virtual void set_lease(milliseconds lease) = 0;
  virtual void close() = 0;

  // An answer that is not ok: nobody knows whether the trip happened; `failure` says why.
  virtual async<LeaseAnswer> lease(LeaseRequest request, Error* failure) = 0;
  virtual async<relay::DataAnswer> data(DataTrip trip, Error* failure) = 0;
  // Gives back all buckets and leaves the circle of relays.
  virtual async<LeaseAnswer> leave(Error* failure) = 0;
};

}  // namespace drom::outbox
