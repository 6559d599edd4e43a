#include "connectors/http/public_address.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace drom::http {
namespace {

namespace ip = boost::asio::ip;

struct Range4 {
  uint32_t from;
  int bits;
};
// IANA's special-purpose registry (RFC 6890), multicast and class E.
constexpr Range4 kNotPublic4[] = {
    {0x00000000, 8},   // 0.0.0.0/8 this network
    {0x0a000000, 8},   // 10.0.0.0/8
    {0x64400000, 10},  // 100.64.0.0/10 shared
    {0x7f000000, 8},   // 127.0.0.0/8
    {0xa9fe0000, 16},  // 169.254.0.0/16 link-local, cloud metadata
    {0xac100000, 12},  // 172.16.0.0/12
    {0xc0000000, 24},  // 192.0.0.0/24
    {0xc0000200, 24},  // 192.0.2.0/24 documentation
    {0xc0586300, 24},  // 192.88.99.0/24
    {0xc0a80000, 16},  // 192.168.0.0/16
    {0xc6120000, 15},  // 198.18.0.0/15 benchmarks
    {0xc6336400, 24},  // 198.51.100.0/24 documentation
    {0xcb007100, 24},  // 203.0.113.0/24 documentation
    {0xe0000000, 3},   // 224.0.0.0/4 multicast, 240.0.0.0/4 reserved
};

bool is_public(uint32_t address) {
  return std::ranges::none_of(kNotPublic4, [&](const Range4& range) {
    const uint32_t mask = ~uint32_t{0} << (32 - range.bits);
    return (address & mask) == range.from;
  });
}

using Bytes16 = ip::address_v6::bytes_type;

uint32_t four(const Bytes16& b, size_t at) {
  return uint32_t{b[at]} << 24 | uint32_t{b[at + 1]} << 16 | uint32_t{b[at + 2]} << 8 |
         uint32_t{b[at + 3]};
}

bool starts_with(const Bytes16& b, std::initializer_list<uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), b.begin());
}

bool is_public(const Bytes16& b) {
  if (starts_with(b, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff})) return is_public(four(b, 12));
  if (starts_with(b, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return is_public(four(b, 12));
  if (starts_with(b, {0x20, 0x02})) return is_public(four(b, 2));
  if (starts_with(b, {0x20, 0x01, 0, 0})) return is_public(~four(b, 12));
  if (starts_with(b, {0x20, 0x01, 0x0d, 0xb8})) return false;            // documentation
  if (starts_with(b, {0x20, 0x01}) && (b[2] & 0xfe) == 0) return false;  // 2001::/23 protocols
  return (b[0] & 0xe0) == 0x20;  // 2000::/3 is all that is global
}

}  // namespace

bool is_public_address(const ip::address& address) {
  return address.is_v4() ? is_public(address.to_v4().to_uint())
                         : is_public(address.to_v6().to_bytes());
}

}  // namespace drom::http
