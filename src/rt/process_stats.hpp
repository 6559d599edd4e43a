// What the operating system says about this process, for the metrics page. Any thread.
#pragma once

#include <cstdint>

namespace drom {

// Bytes of memory that are in use and in RAM; 0 where it cannot be told.
uint64_t resident_memory_bytes();

}  // namespace drom
