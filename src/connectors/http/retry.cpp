#include "connectors/http/retry.hpp"

#include <algorithm>

namespace drom::http {
namespace {

// Doubles from attempt to attempt; half of it is left to chance, so that clients which failed
// together do not come back together.
milliseconds backoff(const RetryRules& rules, int done, Rng& rng) {
  int64_t wait = rules.delay.count();
  for (int i = 1; i < done && wait < rules.delay_max.count(); ++i) wait *= 2;
  wait = std::min<int64_t>(wait, rules.delay_max.count());
  return milliseconds(rng.between(wait - wait / 2, wait));
}

}  // namespace

bool is_repeatable(std::string_view method) {
  for (const std::string_view one : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
    if (method == one) return true;
  return false;
}

bool says_later(int status) {
  return status == 408 || status == 425 || status == 429 || (status >= 502 && status <= 504);
}

std::optional<milliseconds> retry_wait(const RetryRules& rules, int done, bool repeatable,
                                       const Result<Response>& outcome, WallTime now, Rng& rng) {
  if (done > rules.attempts_more) return std::nullopt;
  if (!outcome) {
    const ErrorKind kind = outcome.error().kind;
    const bool sent = kind == ErrorKind::transient || kind == ErrorKind::timeout;
    if (kind != ErrorKind::not_connected && !(sent && repeatable)) return std::nullopt;
    return backoff(rules, done, rng);
  }
  if (!repeatable || !says_later((*outcome).status)) return std::nullopt;
  const milliseconds wait = backoff(rules, done, rng);
  const std::optional<milliseconds> asked =
      parse_retry_after((*outcome).headers.text("Retry-After"), now);
  if (!asked) return wait;
  if (*asked > rules.delay_max) return std::nullopt;
  return std::max(wait, *asked);
}

}  // namespace drom::http
