// Remembers which messages a consumer has handled (Idempotent Receiver, EIP). The SQL repository
// inserts in the current unit of work, so that key and effect commit together: the inbox.
// Shard thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/async.hpp"

namespace drom {

class IdempotentRepository {
 public:
  virtual ~IdempotentRepository() = default;
  // True: the key is new and now claimed by this exchange. False: seen before.
  virtual async<Result<bool>> add(std::string_view consumer, std::string_view key,
                                  Exchange& exchange) = 0;
  // The same for exchanges that share a unit of work, in one trip; the answer has their order. Only
  // for repositories that are transactional().
  virtual async<Result<std::vector<bool>>> add_all(std::string consumer,
                                                   std::vector<std::string> keys, Batch& exchanges);
  // The data source with whose transaction keys live and die; empty: none.
  virtual std::string data_source() const { return {}; }
  bool transactional() const { return !data_source().empty(); }
  // The exchange was processed. Repositories in a unit of work have nothing to do.
  virtual async<Result<void>> confirm(std::string_view consumer, std::string_view key,
                                      Exchange& exchange) = 0;
  // The exchange failed: the key must be free again, also when the unit of work rolled back.
  virtual async<Result<void>> remove(std::string_view consumer, std::string_view key,
                                     Exchange& exchange) = 0;
  virtual async<Result<bool>> contains(std::string_view consumer, std::string_view key) = 0;
};

}  // namespace drom
