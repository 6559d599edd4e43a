#include "sql/wait_hub.hpp"

#include <utility>

namespace drom::sql {

void WaitHub::signal(Channel& channel) {
  if (channel.waiting.empty()) channel.kept = true;
  channel.waiting.ring_all();
}

void WaitHub::signal(std::string_view channel) {
  auto at = channels_.find(channel);
  if (at == channels_.end()) at = channels_.try_emplace(std::string(channel)).first;
  signal(at->second);
}

void WaitHub::signal_all() {
  for (auto& [name, channel] : channels_) signal(channel);
}

async<> WaitHub::wait(Clock& clock, std::string channel, milliseconds timeout) {
  Channel& at = channels_[channel];
  if (std::exchange(at.kept, false)) co_return;
  co_await at.waiting.wait(clock, timeout);
}

void WaitHub::cancel() {
  for (auto& [name, channel] : channels_) channel.waiting.ring_all();
}

}  // namespace drom::sql
