#include "connectors/http/cors.hpp"

namespace drom::http {

std::string preflight_lines(const CorsRules& rules) {
  std::string out = "Access-Control-Allow-Methods: " + rules.methods + "\r\n";
  out += "Access-Control-Allow-Headers: " + rules.headers + "\r\n";
  out += "Access-Control-Max-Age: " + std::to_string(rules.max_age.count() / 1000);
  return out + "\r\n";
}

void append_cors(std::string& out, const CorsRules& rules, std::string_view origin) {
  for (const std::string& allowed : rules.origins) {
    if (allowed != "*" && allowed != origin) continue;
    out += "Access-Control-Allow-Origin: " + allowed + "\r\n";
    if (allowed != "*") out += "Vary: Origin\r\n";
    return;
  }
}

}  // namespace drom::http
