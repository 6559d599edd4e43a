// The stable codes of configuration errors: what each means, for docs/reference/errors.md and
// `drom doc E0201`. A test keeps the table and the sources in step.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace drom {

struct ErrorCode {
  std::string_view code;
  std::string_view title;
  std::string_view meaning;  // what is wrong and what to do
};

// In ascending order.
std::span<const ErrorCode> error_codes();
const ErrorCode* find_error_code(std::string_view code);

// docs/reference/errors.md.
std::string error_codes_page();

}  // namespace drom
