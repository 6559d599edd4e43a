#include "connectors/http/cors.hpp"

#include <algorithm>

namespace drom::http {

std::string preflight_lines(const CorsRules& rules) {
  std::string out = "Access-Control-Allow-Methods: " + rules.methods + "\r\n";
  out += "Access-Control-Allow-Headers: " + rules.headers + "\r\n";
  out += "Access-Control-Max-Age: " + std::to_string(rules.max_age.count() / 1000);
  return out + "\r\n";
}

void append_cors(std::string& out, const CorsRules& rules, std::string_view origin) {
  const bool any = std::ranges::find(rules.origins, "*") != rules.origins.end();
  if (!any) out += "Vary: Origin\r\n";
  if (origin.empty() || (!any && std::ranges::find(rules.origins, origin) == rules.origins.end()))
    return;
  out += "Access-Control-Allow-Origin: ";
  out += any ? "*" : origin;
  out += "\r\n";
  if (rules.credentials) out += "Access-Control-Allow-Credentials: true\r\n";
  if (!rules.exposed.empty()) out += "Access-Control-Expose-Headers: " + rules.exposed + "\r\n";
}

}  // namespace drom::http
