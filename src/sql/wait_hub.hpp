// The wake-up hints of one database inside this process, by channel. A hint while nobody waits is
// kept for the next one, so that "look, then wait" misses nothing. Shard thread only.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "rt/wait_list.hpp"

namespace drom::sql {

class WaitHub {
 public:
  void signal(std::string_view channel);
  void signal_all();
  // Returns at a signal, at cancel() or after `timeout`. The hub may go away meanwhile.
  async<> wait(Clock& clock, std::string channel, milliseconds timeout);
  // Ends the waits that are under way; later ones wait again.
  void cancel();

 private:
  struct Channel {
    WaitList waiting;
    bool kept = false;
  };
  static void signal(Channel& channel);
  std::map<std::string, Channel, std::less<>> channels_;
};

}  // namespace drom::sql
