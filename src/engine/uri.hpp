// Endpoint URIs as Camel writes them: scheme:path?name=value&name=RAW(value). Load time and toD.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drom {

struct EndpointUri {
  std::string scheme;
  std::string path;    // after `scheme:`, without leading slashes of `//`
  std::string target;  // the whole URI without its query
  std::vector<std::pair<std::string, std::string>> query;
};

// Never fails: what is no URI has an unknown scheme, and what is no query stays in the path.
EndpointUri split_uri(std::string_view text);

}  // namespace drom
