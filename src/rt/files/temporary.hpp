// Files that are written under a name of ours until they are whole. Whoever writes one holds its
// lock, so that what a killed process has left can be told from what is still being written. All
// calls block: use them on a lane.
#pragma once

#include <string>
#include <string_view>

#include "drom/rt/clock.hpp"
#include "rt/files/directory.hpp"

namespace drom::file {

// `unique` must differ between all that write to the directory.
std::string temporary_name(std::string_view unique);

// The file at `place`, new and locked. One that exists is replaced when nobody holds its lock.
Result<Fd> create_temporary(const Place& place);

// Deletes what killed processes have left in the directory itself: files with a temporary name that
// nobody holds and that have not changed for a minute. How many.
Result<size_t> drop_leftovers(const Directory& directory, WallTime now);

}  // namespace drom::file
