// Any bytes are refused or read; what was read is written so that reading it again gives the same.
#include <cstdint>

#include "drom/base/assert.hpp"
#include "drom/base/json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const drom::Result<drom::Value> first = drom::parse_json(text);
  if (!first) return 0;
  for (const std::string& written : {drom::to_json(*first), drom::to_json_pretty(*first)}) {
    const drom::Result<drom::Value> second = drom::parse_json(written);
    DROM_ASSERT(second.ok());
    DROM_ASSERT(*second == *first);
  }
  return 0;
}
