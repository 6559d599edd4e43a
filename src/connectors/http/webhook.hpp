// `webhook`: delivers events to an address that somebody else has named, as Standard Webhooks
// (standardwebhooks.com) describes it: signed, with a stable id, and never into the own network.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/spi/registry.hpp"

namespace drom::http {

ComponentInfo webhook_component();

// Keys of the option `secret`: "whsec_<base64>" or plain text, several separated by spaces. Errors
// of kind config never show them.
Result<std::vector<std::string>> signing_keys(std::string_view secrets);

// The header webhook-signature: one "v1,<base64 of HMAC-SHA256>" per key, over id, time and body.
std::string signature(const std::vector<std::string>& keys, std::string_view id,
                      std::string_view timestamp, std::string_view body);

}  // namespace drom::http
