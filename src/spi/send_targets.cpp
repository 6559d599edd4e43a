#include "spi/send_targets.hpp"

#include "drom/spi/endpoint.hpp"

namespace drom {

SendTargets& SendTargets::of(BuildContext& context) {
  return context.shared<SendTargets>([] { return std::make_shared<SendTargets>(); });
}

void SendTargets::add(const std::string& name, Producer& producer, const Location& where,
                      Diagnostics& diagnostics) {
  const auto [at, is_new] = producers_.emplace(name, &producer);
  if (is_new || at->second == &producer || kept_.empty()) return;
  diagnostics.error("E0508", where,
                    "sends to '" + name +
                        "' are kept in an outbox, and another step sends there "
                        "with other options",
                    "a stored message knows the name of its endpoint only: give both the same "
                    "options, or send one through an outbox: of its own");
}

Producer* SendTargets::find(std::string_view name) const {
  const auto at = producers_.find(name);
  return at == producers_.end() ? nullptr : at->second;
}

}  // namespace drom
