// Any bytes are refused with a message or read; no message shows a control character, and every
// place in a message is inside of the text.
#include <algorithm>
#include <cstdint>

#include "drom/app.hpp"
#include "drom/base/assert.hpp"
#include "dsl/yaml_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const drom::Registry registry = [] {
    drom::Registry out;
    drom::register_builtin(out);
    return out;
  }();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  drom::ContextSpec spec;
  drom::Diagnostics diagnostics;
  const bool fine = drom::read_yaml(text, "fuzz.yaml", registry, spec, diagnostics);
  DROM_ASSERT(fine == !diagnostics.has_errors());
  const auto lines = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  for (const drom::Diagnostic& item : diagnostics.items()) {
    DROM_ASSERT(!item.code.empty() && !item.what.empty());
    DROM_ASSERT(item.where.line >= 1 && item.where.line <= lines);
  }
  for (const char c : diagnostics.render())
    DROM_ASSERT(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  return 0;
}
