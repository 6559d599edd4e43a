// What each route has done since the start, counted per batch on its shard, and whether its source
// works. Read by `drom test` and by the pages for health and metrics. Shard thread only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace drom {

enum class RouteState : uint8_t {
  off,       // not started by itself
  starting,  // its source has not been opened yet
  started,   // since then, even while the source is lost
  stopped,
};

struct RouteCounters {
  uint64_t received = 0;            // exchanges taken from the source
  uint64_t completed = 0;           // ended well, or the error was handled
  uint64_t failed = 0;              // ended with an error that nobody handled
  uint64_t released = 0;            // given back to the source untouched
  uint64_t redelivered = 0;         // attempts after the first
  uint64_t dead_letter_failed = 0;  // the dead letter endpoint did not take one; it is kept
  RouteState state = RouteState::off;
  std::string trouble{};  // why the source cannot be opened or polled now; "" when it can
};

class Counters {
 public:
  // The counters of a route; the address stays valid.
  RouteCounters& route(std::string_view id) {
    const auto it = routes_.find(id);
    return it != routes_.end() ? it->second : routes_[std::string(id)];
  }
  std::map<std::string, RouteCounters, std::less<>>& routes() { return routes_; }
  const std::map<std::string, RouteCounters, std::less<>>& routes() const { return routes_; }

 private:
  std::map<std::string, RouteCounters, std::less<>> routes_;
};

}  // namespace drom
