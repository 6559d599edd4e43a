#include "rt/files/posix.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace drom::file {
namespace {

ErrorKind kind_of(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EIO:
    case EAGAIN:
    case EBUSY:
    case EINTR:
    case ENOMEM:
    case ENOLCK:
    case ETXTBSY: return ErrorKind::transient;
    case ESTALE:
    case ENODEV:
    case ENXIO:
    case EHOSTDOWN:
    case ETIMEDOUT:
    case ENOTCONN: return ErrorKind::not_connected;
    default: return ErrorKind::rejected;
  }
}

std::string_view hint_of(int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT: return "free some space on that disk";
    case EACCES:
    case EPERM: return "give the user of this process the right to do it";
    case EROFS: return "the file system is mounted read-only";
    case ENOENT: return "create the folder, or use autoCreate=true";
    case ELOOP: return "symbolic links below the directory are not followed";
    case EMFILE: return "raise the limit of open files";
    default: return "";
  }
}

}  // namespace

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error io_error(int code, std::string_view action, std::string_view path) {
  char buffer[128];
  Error out(kind_of(code),
            "cannot " + std::string(action) + " '" + std::string(path) +
                "': " + ::strerror_r(code, buffer, sizeof buffer),
            std::string(hint_of(code)));
  if (const char* name = ::strerrorname_np(code)) out.type = name;
  return out;
}

Result<void> write_all(int fd, std::string_view data, std::string_view path) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error(errno, "write", path);
    data.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Result<void> sync_file(int fd, std::string_view path) {
  if (::fsync(fd) == 0 || errno == EINVAL) return {};  // EINVAL: a file system without fsync
  return io_error(errno, "sync", path);
}

}  // namespace drom::file
