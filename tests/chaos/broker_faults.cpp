#include "chaos/broker_faults.hpp"

#include "chaos/child.hpp"
#include "chaos/dice.hpp"

namespace drom::chaos {
namespace {

int64_t in(milliseconds time) { return now_ns() + std::chrono::nanoseconds(time).count(); }

}  // namespace

BrokerFaults::BrokerFaults(Broker& broker, std::function<void(const std::string&)> count)
    : broker_(broker), count_(std::move(count)), proxy_(broker.port(), broker.proxy_port()) {}

void BrokerFaults::look_after() {
  const int64_t now = now_ns();
  if (heal_ns_ != 0 && now >= heal_ns_) {
    heal_ns_ = 0;
    proxy_.heal();
  }
  if (resume_ns_ != 0 && now >= resume_ns_) {
    resume_ns_ = 0;
    broker_.resume();
  }
}

void BrokerFaults::disturb(uint64_t& dice) {
  if (heal_ns_ != 0 || resume_ns_ != 0) return;
  const size_t choice = roll(dice, std::size(kProxyFaults) + 4);
  if (choice < std::size(kProxyFaults)) {
    ProxyFault fault;
    fault.mode = kProxyFaults[choice];
    proxy_.set(fault);
    count_(std::string("broker network: ") + to_string(fault.mode));
    heal_ns_ = in(milliseconds(50 + roll(dice, 700)));
  } else if (choice < std::size(kProxyFaults) + 2) {
    proxy_.cut_reply_after(roll(dice, 400));
    count_("broker network: reply cut");
  } else {
    broker_.pause();
    count_("broker paused");
    resume_ns_ = in(milliseconds(100 + roll(dice, 1500)));
  }
}

void BrokerFaults::kill() {
  resume_ns_ = 0;
  broker_.kill();  // also when it is paused
  count_("broker killed");
}

bool BrokerFaults::heal() {
  if (resume_ns_ != 0) broker_.resume();
  resume_ns_ = heal_ns_ = 0;
  proxy_.heal();
  return broker_.comes();
}

}  // namespace drom::chaos
