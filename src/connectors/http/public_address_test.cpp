#include "connectors/http/public_address.hpp"

#include <gtest/gtest.h>

namespace drom::http {
namespace {

bool is_public(const char* text) { return is_public_address(boost::asio::ip::make_address(text)); }

TEST(PublicAddress, TheOwnNetworkIsNotPublic) {
  for (const char* text :
       {"127.0.0.1",       "127.255.255.254", "0.0.0.0",         "10.0.0.1",
        "10.255.255.255",  "172.16.0.1",      "172.31.255.255",  "192.168.1.1",
        "169.254.169.254", "100.64.0.1",      "100.127.255.255", "192.0.0.8",
        "198.18.0.1",      "198.19.255.255",  "224.0.0.1",       "239.255.255.255",
        "240.0.0.1",       "255.255.255.255", "192.0.2.1",       "198.51.100.1",
        "203.0.113.1"})
    EXPECT_FALSE(is_public(text)) << text;
}

TEST(PublicAddress, ItsNeighboursArePublic) {
  for (const char* text : {"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
                           "172.15.255.255", "172.32.0.0", "192.167.255.255", "198.17.255.255",
                           "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"})
    EXPECT_TRUE(is_public(text)) << text;
}

TEST(PublicAddress, WrappedAddressesAreUnwrapped) {
  for (const char* text :
       {"::1", "::", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1",
        "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "2002:7f00:0001::", "2002:c0a8:0101::1",
        "2001:0:4136:e378:8000:63bf:3f57:fefe", "2001:db8::1", "::127.0.0.1"})
    EXPECT_FALSE(is_public(text)) << text;
  EXPECT_TRUE(is_public("::ffff:8.8.8.8"));
  EXPECT_TRUE(is_public("64:ff9b::808:808"));
  EXPECT_TRUE(is_public("2002:808:808::"));
}

}  // namespace
}  // namespace drom::http
