// What a campaign does to its broker: kills and pauses it, and disturbs the network to it. Used by
// the thread of the campaign.
#pragma once

#include <functional>

#include "chaos/broker.hpp"
#include "chaos/fault_proxy.hpp"

namespace drom::chaos {

class BrokerFaults {
 public:
  // `count` hears of every fault.
  BrokerFaults(Broker& broker, std::function<void(const std::string&)> count);
  // Where engines reach the broker.
  uint16_t port() const { return proxy_.port(); }
  // Ends what has lasted long enough.
  void look_after();
  void disturb(uint64_t& dice);
  void kill();
  // Everything is well from here on. False: the broker does not come back.
  bool heal();

 private:
  Broker& broker_;
  std::function<void(const std::string&)> count_;
  FaultProxy proxy_;
  int64_t heal_ns_ = 0;    // of the network; 0: nothing to heal
  int64_t resume_ns_ = 0;  // of the broker; 0: it runs
};

}  // namespace drom::chaos
