#include "rt/files/temporary.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>

namespace drom::file {
namespace {

constexpr std::string_view kPrefix = ".drom-";
constexpr std::string_view kSuffix = ".tmp";
// Between making a file and locking it, and where locks do not reach other machines.
constexpr std::chrono::minutes kLeftoverAge{1};

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

bool lock(const Fd& fd) { return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0; }

bool drop_if_left(int folder, const char* name, int64_t before_ms) {
  const Fd fd(::openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const int64_t changed_ms = int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
  return changed_ms < before_ms && lock(fd) && ::unlinkat(folder, name, 0) == 0;
}

}  // namespace

std::string temporary_name(std::string_view unique) {
  std::string out(kPrefix);
  out += unique;
  out += kSuffix;
  return out;
}

Result<Fd> create_temporary(const Place& place) {
  for (int attempt = 1; attempt <= 2; ++attempt) {
    Fd fd(::openat(place.folder.get(), place.base.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (fd) {
      (void)lock(fd);  // a file system without locks has the age of the file
      return fd;
    }
    if (errno != EEXIST) return io_error(errno, "write", place.shown);
    const Fd old(::openat(place.folder.get(), place.base.c_str(),
                          O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!old || !lock(old)) break;
    ::unlinkat(place.folder.get(), place.base.c_str(), 0);
  }
  return io_error(EBUSY, "write", place.shown);
}

Result<size_t> drop_leftovers(const Directory& directory, WallTime now) {
  const int64_t before_ms =
      std::chrono::floor<std::chrono::milliseconds>((now - kLeftoverAge).time_since_epoch())
          .count();
  // A descriptor of its own: reading moves the position that duplicates share.
  const int fd = ::openat(directory.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error(errno, "list", directory.path());
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd));
  if (!dir) return io_error(errno, "list", directory.path());
  size_t dropped = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string_view name(entry->d_name);
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    if (drop_if_left(fd, entry->d_name, before_ms)) ++dropped;
  }
  return dropped;
}

}  // namespace drom::file
