#include "connectors/http/proxy.hpp"

namespace drom::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

bool matches(std::string_view pattern, std::string_view host) {
  if (pattern == "*") return true;
  if (pattern.starts_with('*')) return host.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return host.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == host;
}

}  // namespace

bool Proxy::serves(std::string_view target_host) const {
  const std::string folded = lower(target_host);
  for (const std::string& pattern : direct_hosts)
    if (matches(pattern, folded)) return false;
  return true;
}

std::vector<std::string> parse_direct_hosts(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find_first_of("|, ");
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!one.empty()) out.push_back(lower(one));
  }
  return out;
}

}  // namespace drom::http
