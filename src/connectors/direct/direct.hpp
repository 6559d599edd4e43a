// direct: calls another route of the same engine, synchronously and on the same exchange, so that
// the unit of work and the reply are shared. Like a function call: what ends the called route well
// (its end, stop, a handled error) ends only that route, and the caller goes on. In Camel a `stop`
// would end the caller too.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/endpoint.hpp"
#include "rt/wait_list.hpp"

namespace drom {

class Registry;

void register_direct(Registry& registry);

// The names that routes of one engine start with. Shared by all direct endpoints; shard thread.
class DirectChannels {
 public:
  struct Channel {
    size_t declared = 0;          // routes that start with this name, running or not
    RouteEntry* entry = nullptr;  // set while that route runs
    WaitList attached;
  };

  // The channel stays where it is as long as the table lives.
  Channel& channel(const std::string& name) { return channels_[name]; }
  bool has_consumer(std::string_view name) const;
  // The URIs ("direct:x") that routes start with, for did-you-mean.
  std::vector<std::string> consumers() const;

 private:
  std::map<std::string, Channel, std::less<>> channels_;
};

}  // namespace drom
