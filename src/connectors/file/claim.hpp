// What happens to one file on the disk: it is claimed (locked, moved aside, read) before the route
// runs and finished (moved, deleted, given back) afterwards. Everything blocks: on a lane.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rt/files/directory.hpp"
#include "rt/files/file_name.hpp"

namespace drom::file {

enum class ReadLock : uint8_t { none, changed, marker_file, rename };

// The lock of one file against other consumers: `NAME.camelLock`, with an advisory lock on it, so
// that the marker of a killed process is seen for what it is. Destroyed without release(), it stays
// behind like after a crash.
class Marker {
 public:
  // Null: another consumer has the file.
  static Result<std::shared_ptr<Marker>> acquire(const Place& file);
  Result<void> release();

 private:
  Marker(Place place, Fd lock) : place_(std::move(place)), lock_(std::move(lock)) {}
  Place place_;
  Fd lock_;
};

// A file somewhere: a directory and a name in it.
struct Spot {
  DirectoryPtr directory;
  std::string name;
};

struct ClaimJob {
  FileInfo info;
  Spot at;
  std::optional<Spot> move_first;  // preMove
  ReadLock lock = ReadLock::marker_file;
  size_t body_max = 0;
};

struct Claimed {
  enum class State : uint8_t {
    ready,
    unreadable,  // claimed, but the content cannot be taken: `error` of kind data
    busy,        // another consumer has it, or it is gone
    failed,      // `error`; nothing was claimed
  };
  State state = State::busy;
  std::string body;
  FileInfo info;  // as it was when it was read
  Spot at;        // where it is now
  std::shared_ptr<Marker> marker;
  std::optional<Error> error;
};

Claimed claim(const ClaimJob& job);

struct FinishJob {
  enum class Action : uint8_t { keep, remove, move };
  Action action = Action::keep;
  Spot at;
  Spot target;  // for move
  bool replace = true;
  std::string done_file;  // to be deleted from the folder of `origin`; "" is none
  Spot origin;
  std::shared_ptr<Marker> marker;
};

Result<void> finish(const FinishJob& job);

// At the start: markers of killed processes are deleted, files that a killed process had renamed or
// moved aside (to the folder `pre_move` beside them) come back.
struct Recovery {
  bool recursive = false;
  bool orphan_markers = true;
  std::string pre_move;  // a plain folder name, or ""
};
// How many files came back.
Result<size_t> recover(const Directory& directory, const Recovery& recovery);

}  // namespace drom::file
