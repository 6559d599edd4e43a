// Named points at which a test may kill, hang, delay or fail this process: the moments between two
// effects where a crash must lose nothing. A program that installs no hook pays one relaxed load
// per point; `drom` installs none, drom-chaos does (tests/chaos). Any thread.
#pragma once

#include <atomic>
#include <string>

#include "drom/base/error.hpp"

namespace drom {

// True: behave as if the next action had failed. May not return.
using FailpointHook = bool (*)(const char* name);

// The process's one hook; null means that failpoints do nothing. Set it before threads start.
inline std::atomic<FailpointHook>& failpoint_hook() {
  static constinit std::atomic<FailpointHook> hook{nullptr};
  return hook;
}

inline bool failpoint(const char* name) {
  const FailpointHook hook = failpoint_hook().load(std::memory_order_relaxed);
  return hook && hook(name);
}

// What a point that fails reports where nothing more telling fits.
inline Error failpoint_error(const char* name) {
  return Error(ErrorKind::transient, std::string("failed on purpose at ") + name);
}

}  // namespace drom
