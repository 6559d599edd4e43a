#include "chaos/engines.hpp"

#include <fstream>

#include "chaos/http_io.hpp"

namespace drom::chaos {
namespace {

// The value of "name":"value" in a line that we have written ourselves.
std::string text_of(const std::string& line, const std::string& name) {
  const std::string mark = "\"" + name + "\":\"";
  const size_t at = line.find(mark);
  if (at == std::string::npos) return "";
  const size_t begin = at + mark.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

}  // namespace

Engines::Engines(EngineOptions options, size_t count) : options_(std::move(options)) {
  for (size_t i = 0; i < count; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->number = i + 1;
    slot->port = free_port();
    slots_.push_back(std::move(slot));
  }
}

void Engines::start(Slot& slot, const std::string& point, const std::string& plan, uint64_t seed) {
  ChildOptions child;
  child.arguments = {options_.program,
                     "engine",
                     "run",
                     options_.routes,
                     "--log-level",
                     "warn",
                     "--shutdown-timeout",
                     "10",
                     "-D",
                     "drom.http.host=127.0.0.1",
                     "-D",
                     "drom.http.port=" + std::to_string(slot.port),
                     "-D",
                     "engine=" + std::to_string(slot.number)};
  for (const std::string& define : options_.defines) {
    child.arguments.emplace_back("-D");
    child.arguments.push_back(define);
  }
  child.environment = {"DROM_FAILPOINTS=" + plan, "DROM_FAILPOINTS_SEED=" + std::to_string(seed),
                       "DROM_FAILPOINTS_LOG=" + failpoint_log()};
  child.log = options_.folder + "/engine-" + std::to_string(slot.number) + ".log";
  slot.child.start(child);
  ++slot.starts;
  slot.point = point;
  slot.plan = plan;
  slot.started_ns = now_ns();
  slot.resume_ns = 0;
}

std::vector<uint16_t> Engines::ports() const {
  std::vector<uint16_t> out;
  for (const auto& slot : slots_) out.push_back(slot->port);
  return out;
}

std::map<std::string, size_t> Engines::reached() const {
  std::map<std::string, size_t> out;
  std::ifstream file(failpoint_log());
  std::string line;
  while (std::getline(file, line)) {
    size_t& acted = out[text_of(line, "failpoint")];
    if (text_of(line, "action") != "none") ++acted;
  }
  return out;
}

}  // namespace drom::chaos
