#include "rt/files/directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "rt/files/file_name.hpp"
#include "rt/files/temporary.hpp"

namespace drom::file {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

int64_t milliseconds_of(const timespec& time) {
  return int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
}

// Opens `part` in `folder`; a link is never followed.
Result<Fd> step_into(int folder, const std::string& part, FolderRules rules,
                     const std::string& shown) {
  Fd next(::openat(folder, part.c_str(), kFolderFlags | O_NOFOLLOW));
  if (next) return next;
  if (errno == ENOTDIR || errno == ELOOP) return io_error(ELOOP, "open folder", shown);
  if (errno != ENOENT || !rules.create) return io_error(errno, "open folder", shown);
  if (::mkdirat(folder, part.c_str(), rules.mode) != 0 && errno != EEXIST)
    return io_error(errno, "create folder", shown);
  const Result<void> synced = sync_file(folder, shown);
  if (!synced) return synced.error();
  next = Fd(::openat(folder, part.c_str(), kFolderFlags | O_NOFOLLOW));
  if (!next) return io_error(errno, "open folder", shown);
  return next;
}

Result<void> copy_content(int from, int to, const Place& target) {
  std::array<char, 64 * 1024> buffer;
  while (true) {
    const ssize_t n = ::read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(errno, "read", target.shown);
    if (n == 0) return {};
    const Result<void> written =
        write_all(to, std::string_view(buffer.data(), static_cast<size_t>(n)), target.shown);
    if (!written) return written;
  }
}

Result<void> rename_in_place(const Place& from, const Place& to, Existing existing, int& code) {
  const unsigned flags = existing == Existing::refuse ? RENAME_NOREPLACE : 0;
  code = 0;
  if (::renameat2(from.folder.get(), from.base.c_str(), to.folder.get(), to.base.c_str(), flags) ==
      0)
    return {};
  code = errno;
  if (flags != 0 && (code == EINVAL || code == ENOSYS)) {
    // A file system without RENAME_NOREPLACE: a second name, then the first one away.
    code = 0;
    if (::linkat(from.folder.get(), from.base.c_str(), to.folder.get(), to.base.c_str(), 0) == 0) {
      ::unlinkat(from.folder.get(), from.base.c_str(), 0);
      return {};
    }
    code = errno;
  }
  return io_error(code, "move '" + from.shown + "' to", to.shown);
}

// To another file system: the copy gets its name only when it is complete and on the disk.
Result<void> move_by_copy(const Place& from, const Place& to, Existing existing) {
  const Fd source(
      ::openat(from.folder.get(), from.base.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source) return io_error(errno, "read", from.shown);
  struct stat info{};
  if (::fstat(source.get(), &info) != 0) return io_error(errno, "read", from.shown);
  Place temporary;
  temporary.folder = Fd(::fcntl(to.folder.get(), F_DUPFD_CLOEXEC, 0));
  temporary.base = temporary_name(std::to_string(info.st_ino) + "-" + std::to_string(::getpid()));
  temporary.shown = to.shown;
  const Result<Fd> target = create_temporary(temporary);
  if (!target) return target.error();
  Result<void> done;
  if (::fchmod(target->get(), info.st_mode & 0777) != 0)
    done = io_error(errno, "set the mode of", to.shown);
  if (done) done = copy_content(source.get(), target->get(), to);
  if (done) done = sync_file(target->get(), to.shown);
  int code = 0;
  if (done) done = rename_in_place(temporary, to, existing, code);
  if (done) done = sync_file(to.folder.get(), to.shown);
  if (!done) {
    ::unlinkat(temporary.folder.get(), temporary.base.c_str(), 0);
    return done;
  }
  return remove_file(from);
}

}  // namespace

Result<DirectoryPtr> Directory::open(const std::string& path, FolderRules rules) {
  std::error_code code;
  const std::filesystem::path full = std::filesystem::absolute(path, code).lexically_normal();
  if (code) return io_error(code.value(), "find", path);
  if (rules.create) {
    std::filesystem::create_directories(full, code);
    if (code) return io_error(code.value(), "create folder", full.string());
  }
  Fd fd(::open(full.c_str(), kFolderFlags));
  if (!fd && errno == ENOENT) {
    // It may be a mount that is not there yet.
    Error missing = io_error(ENOENT, "open folder", full.string());
    missing.kind = ErrorKind::not_connected;
    return missing;
  }
  if (!fd) return io_error(errno, "open folder", full.string());
  std::string shown = full.string();
  if (shown.size() > 1 && shown.back() == '/') shown.pop_back();
  return DirectoryPtr(new Directory(std::move(shown), std::move(fd)));
}

bool Directory::gone() const {
  struct stat info{};
  return ::fstat(fd_.get(), &info) != 0 || info.st_nlink == 0;
}

Result<Place> Directory::place(std::string_view name, FolderRules rules) const {
  Place out;
  out.shown = joined(path_, name);
  out.folder = Fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (!out.folder) return io_error(errno, "open folder", path_);
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    Result<Fd> next =
        step_into(out.folder.get(), std::string(name.substr(0, slash)), rules, out.shown);
    if (!next) return next.error();
    out.folder = std::move(*next);
    name.remove_prefix(slash + 1);
  }
  out.base = name;
  return out;
}

Result<std::optional<FileInfo>> look(const Place& place) {
  struct stat info{};
  if (::fstatat(place.folder.get(), place.base.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<FileInfo>();
    return io_error(errno, "look at", place.shown);
  }
  if (!S_ISREG(info.st_mode)) return std::optional<FileInfo>();
  FileInfo out;
  out.name = place.base;
  out.size = info.st_size;
  out.modified_ms = milliseconds_of(info.st_mtim);
  return std::optional<FileInfo>(std::move(out));
}

Result<std::string> read_file(const Place& place, size_t max) {
  // O_NONBLOCK: a pipe that has taken the file's place must not hold up the lane.
  const Fd fd(::openat(place.folder.get(), place.base.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return io_error(errno, "read", place.shown);
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return io_error(errno, "read", place.shown);
  if (!S_ISREG(info.st_mode)) return io_error(EINVAL, "read", place.shown);
  std::string out;
  const size_t expected = std::min<size_t>(max, static_cast<size_t>(info.st_size)) + 1;
  while (out.size() <= max) {
    const size_t have = out.size();
    const size_t room =
        std::min(max + 1 - have, std::max<size_t>(expected - std::min(expected, have), 4096));
    out.resize(have + room);
    const ssize_t n = ::read(fd.get(), out.data() + have, room);
    out.resize(have + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(errno, "read", place.shown);
    if (n == 0) return out;
  }
  return Error(ErrorKind::data,
               "'" + place.shown + "' is larger than " + std::to_string(max) + " bytes",
               "raise maxBodySize");
}

Result<void> remove_file(const Place& place) {
  if (::unlinkat(place.folder.get(), place.base.c_str(), 0) == 0 || errno == ENOENT) return {};
  return io_error(errno, "delete", place.shown);
}

Result<void> move_file(const Place& from, const Place& to, Existing existing) {
  int code = 0;
  Result<void> moved = rename_in_place(from, to, existing, code);
  if (code != EXDEV) return moved;
  return move_by_copy(from, to, existing);
}

}  // namespace drom::file
