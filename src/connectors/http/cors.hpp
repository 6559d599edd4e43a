// What browsers are told about other origins, and the numbers of an answer's head. Pure; any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/base/time.hpp"

namespace drom::http {

struct CorsRules {
  bool enabled = false;
  std::vector<std::string> origins;  // "*" allows any
  std::string methods;
  std::string headers;
  std::string exposed;  // headers of an answer that scripts may read; "": the harmless ones
  milliseconds max_age{0};
  bool credentials = false;  // cookies and passwords may come along; never with "*"
};

// The answer to a preflight request, without the origin.
std::string preflight_lines(const CorsRules& rules);
// Allows `origin` ("": none was said), or says nothing but that the answer depends on it.
void append_cors(std::string& out, const CorsRules& rules, std::string_view origin);

}  // namespace drom::http
