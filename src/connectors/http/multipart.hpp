// multipart/form-data (RFC 7578): a body as a form, the way a browser sends one. Pure.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/value.hpp"
#include "drom/rt/random.hpp"

namespace drom::http {

struct MultipartBody {
  std::string content_type;  // with the boundary
  std::string body;
};

// An object gives one part per entry: a text or a number is a field, bytes are a file, a list gives
// several parts of one name, and an object with `content`, and `fileName` or `contentType` if need
// be, is a file. Everything else gives one part `name`: with `file_name` a file, else a field.
MultipartBody write_multipart(const Value& body, std::string_view name, std::string_view file_name,
                              std::string_view content_type, Rng& rng);

}  // namespace drom::http
