// A YAML scalar read back from the file, with the byte where each byte of its value stands. Only
// for places in messages: what is odd in the file gives a shorter or other text, never a failure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace drom {

struct ScalarText {
  std::string value;
  std::vector<size_t> bytes;  // one more than `value`: the end
  bool closed = true;         // false: a quote is missing at the end
};

// `at` is where the scalar starts: a quote, `|`, `>` or the first letter.
ScalarText read_scalar_text(std::string_view source, size_t at);

}  // namespace drom
