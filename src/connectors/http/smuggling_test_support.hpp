// Raw requests that two parsers could read in two ways, or that must not be accepted at all, with
// what this server makes of them. After RFC 9112 and the known classes of request smuggling.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drom::http {

// `outcome` lists the answers in order, then "close" or "open": accepted requests as
// [METHOD target body], others by their status. "open" means that the server waits for more.
struct SmugglingCase {
  std::string_view name;
  std::string raw;
  std::string_view outcome;
};

std::vector<SmugglingCase> two_length_cases();
std::vector<SmugglingCase> content_length_cases();
std::vector<SmugglingCase> transfer_encoding_cases();
std::vector<SmugglingCase> chunk_cases();
std::vector<SmugglingCase> line_cases();
std::vector<SmugglingCase> field_cases();
std::vector<SmugglingCase> target_cases();
std::vector<SmugglingCase> connection_cases();

}  // namespace drom::http
