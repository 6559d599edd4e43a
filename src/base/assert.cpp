#include "drom/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace drom {

void assert_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "drom: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace drom
