#include "rt/process_stats.hpp"

#include <unistd.h>

#include <fstream>

namespace drom {

uint64_t resident_memory_bytes() {
  std::ifstream in("/proc/self/statm");
  uint64_t all_pages = 0;
  uint64_t pages = 0;
  if (!(in >> all_pages >> pages)) return 0;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace drom
