// What can be said of a request before a route sees it: who serves it, in which methods and media
// types, and whether its content coding is understood. Pure; shard thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "connectors/http/message_reader.hpp"
#include "connectors/http/router.hpp"
#include "connectors/http/server.hpp"

namespace drom::http {

// An answer without a route.
struct Verdict {
  int status;
  std::string_view reason;  // a constant; empty: no body
  std::string lines;        // further headers
};

struct Admission {
  std::shared_ptr<Route> route;
  Router::Parameters parameters;
  std::optional<Verdict> verdict;  // none: the route may have it
};

Admission admit(const Request& request, const Router& router);

// The route sees the body without its content coding, `bytes_max` long at most. A verdict: refused.
std::optional<Verdict> unpack_body(Request& request, uint64_t bytes_max);
std::optional<Verdict> unpack_stream(Request& request, uint64_t bytes_max);

}  // namespace drom::http
