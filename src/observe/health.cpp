#include "observe/health.hpp"

#include <algorithm>

#include "config/secrets.hpp"
#include "drom/base/json.hpp"

namespace drom {
namespace {

std::string why_not_ready(const RouteCounters& route) {
  if (route.state == RouteState::stopped) return "the route is stopped";
  if (!route.trouble.empty()) return mask_secrets(route.trouble);
  return route.state == RouteState::starting ? "the route has not started yet" : std::string();
}

std::string_view word(bool up) { return up ? "UP" : "DOWN"; }

}  // namespace

bool HealthReport::up() const {
  return std::ranges::all_of(checks, [](const Check& check) { return check.why.empty(); });
}

std::string HealthReport::json() const {
  std::string out = R"({"status":")";
  out.append(word(up())).append(R"(","checks":[)");
  for (const Check& check : checks) {
    if (&check != &checks.front()) out += ',';
    out += R"({"name":)";
    append_json(out, Value(check.name));
    out.append(R"(,"status":")").append(word(check.why.empty())).append("\"");
    if (!check.why.empty()) {
      out += R"(,"data":{"why":)";
      append_json(out, Value(check.why));
      out += '}';
    }
    out += '}';
  }
  return out + "]}";
}

HealthReport startup(const Counters& counters) {
  HealthReport out;
  for (const auto& [id, route] : counters.routes())
    if (route.state != RouteState::off)
      out.checks.push_back({"route:" + id, route.state == RouteState::starting
                                               ? why_not_ready(route)
                                               : std::string()});
  return out;
}

HealthReport readiness(const Counters& counters, const OutboxBoard& board) {
  HealthReport out;
  for (const auto& [id, route] : counters.routes())
    if (route.state != RouteState::off) out.checks.push_back({"route:" + id, why_not_ready(route)});
  for (auto& [uri, relay] : board.read()) {
    std::string name = uri;
    if (relay.reads != "table") name.append(" (").append(relay.reads).append(")");
    out.checks.push_back({std::move(name), relay.ready ? std::string() : relay.why});
  }
  return out;
}

}  // namespace drom
