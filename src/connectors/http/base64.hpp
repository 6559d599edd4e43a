// Base64 (RFC 4648, with padding). Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drom::http {

std::string encode_base64(std::string_view bytes);
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace drom::http
