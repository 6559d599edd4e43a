// An HTTP proxy: who it is, and for which hosts it is used. Plain data; load time and shard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drom::http {

struct Proxy {
  std::string host;
  uint16_t port = 8080;
  std::string authorization;              // value of Proxy-Authorization; secret; may be empty
  std::vector<std::string> direct_hosts;  // lower case; may begin or end with '*'

  // False: this host is reached without the proxy.
  bool serves(std::string_view target_host) const;
  std::string name() const { return "the proxy " + host + ":" + std::to_string(port); }
};

// "localhost|*.example.com, 10.*".
std::vector<std::string> parse_direct_hosts(std::string_view text);

}  // namespace drom::http
