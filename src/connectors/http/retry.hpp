// When a request is sent again, and when. Only what may be done twice is: by its method (RFC 9110,
// 9.2.2), or because the receiver knows repeats by a key. Pure; shard thread.
#pragma once

#include <optional>
#include <string_view>

#include "connectors/http/message_reader.hpp"
#include "drom/base/error.hpp"
#include "drom/base/time.hpp"
#include "drom/rt/random.hpp"

namespace drom::http {

struct RetryRules {
  int attempts_more = 0;
  milliseconds delay{500};
  milliseconds delay_max{30'000};
};

// GET, HEAD, PUT, DELETE, OPTIONS.
bool is_repeatable(std::string_view method);
// An answer that says "not now": 408, 425, 429, 502, 503, 504.
bool says_later(int status);

// How long to wait before attempt `done` + 1; nullopt: do not try again. `repeatable`: the request
// may be done twice; without it only what never reached the server is tried again. A Retry-After
// over delay_max is not waited for: the error carries it to the error handler.
std::optional<milliseconds> retry_wait(const RetryRules& rules, int done, bool repeatable,
                                       const Result<Response>& outcome, WallTime now, Rng& rng);

}  // namespace drom::http
