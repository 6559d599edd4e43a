// A directory that an endpoint works in, held open, so that all names are resolved below it: no
// "..", and no symbolic link below the directory is ever followed. All calls block: use them on a
// lane.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drom/base/error.hpp"
#include "rt/files/posix.hpp"

namespace drom::file {

struct FileInfo {
  std::string name;  // relative to the directory
  int64_t size = 0;
  int64_t modified_ms = 0;
};

// The folder that holds a file, and the file's name in it.
struct Place {
  Fd folder;
  std::string base;
  std::string shown;  // absolute path for messages
};

struct FolderRules {
  bool create = true;
  mode_t mode = 0777;
};

class Directory {
 public:
  // Missing: created when the rules say so, else not_connected.
  static Result<std::shared_ptr<const Directory>> open(const std::string& path, FolderRules rules);

  const std::string& path() const { return path_; }  // absolute
  int fd() const { return fd_.get(); }
  // True when somebody has removed the directory under us.
  bool gone() const;

  // `name` is a safe_name. Folders on the way are created when the rules say so.
  Result<Place> place(std::string_view name, FolderRules rules) const;
  Result<Place> existing(std::string_view name) const { return place(name, FolderRules{false}); }

 private:
  Directory(std::string path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  Fd fd_;
};

using DirectoryPtr = std::shared_ptr<const Directory>;

// The file at `place`; nullopt when there is none or it is no regular file.
Result<std::optional<FileInfo>> look(const Place& place);
// The content, if it is at most `max` bytes; else an error of kind data.
Result<std::string> read_file(const Place& place, size_t max);
// A missing file is fine.
Result<void> remove_file(const Place& place);

enum class Existing : uint8_t { replace, refuse };
// Atomic, also across file systems (then by copy). With `refuse` an existing target is an error
// with type EEXIST.
Result<void> move_file(const Place& from, const Place& to, Existing existing);

}  // namespace drom::file
