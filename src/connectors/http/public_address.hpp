// Whether an address belongs to the public internet: the guard against requests that a URL of
// somebody else's making sends into the own network (SSRF). Pure; any thread.
#pragma once

#include <boost/asio/ip/address.hpp>

namespace drom::http {

// False for private, loopback, link-local, shared, multicast, reserved and documentation addresses,
// also when they are wrapped in IPv6 (mapped, 6to4, NAT64, Teredo).
bool is_public_address(const boost::asio::ip::address& address);

}  // namespace drom::http
