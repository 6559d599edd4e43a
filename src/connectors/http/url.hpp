// The target of a producer: an absolute http or https URL without credentials. Pure; load time, and
// redirects.
#pragma once

#include <string>
#include <string_view>

#include "connectors/http/connection.hpp"

namespace drom::http {

struct Url {
  Target target;
  std::string path;  // with the leading slash and, if there is one, the query; fit for the wire
};

// "https://host:8443/a b" or "https:host/a b". Errors of kind config name what is wrong, and never
// a password.
Result<Url> parse_url(std::string_view text);

// A reference as in Location, relative to `base` (RFC 3986, 5).
Result<Url> resolve_url(const Url& base, std::string_view reference);

// Names of query parameters and options whose values are secrets: they are not printed.
bool is_secret_name(std::string_view name);

}  // namespace drom::http
