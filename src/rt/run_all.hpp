// Runs several coroutines at once on the shard of the caller and waits for all of them: the
// branches of a parallel multicast, the workers of a parallel split. Cancelling the caller cancels
// them all, and the caller still waits until each has unwound, so they may refer to its frame.
// Shard thread only.
#pragma once

#include <vector>

#include "drom/rt/async.hpp"

namespace drom {

// Rethrows the first exception when all have ended.
async<> run_all(std::vector<async<>> work);

}  // namespace drom
