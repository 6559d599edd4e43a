// Assertions for our own mistakes, kept in release builds; never for input from outside.
#pragma once

namespace drom {
// Prints the place and aborts.
[[noreturn]] void assert_failed(const char* condition, const char* file, int line);
}  // namespace drom

#define DROM_ASSERT(condition) \
  ((condition) ? void() : ::drom::assert_failed(#condition, __FILE__, __LINE__))
