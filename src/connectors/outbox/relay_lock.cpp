#include "connectors/outbox/relay_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace drom::outbox {

Result<bool> RelayLock::try_acquire() {
  if (held()) return true;
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return Error(ErrorKind::transient,
                 "cannot open the relay's lock file " + path_ + ": " +
                     std::generic_category().message(errno),
                 "the process needs write access to the folder of the database");
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
    file_ = file;
    return true;
  }
  const int failure = errno;
  ::close(file);
  if (failure == EWOULDBLOCK) return false;
  return Error(ErrorKind::transient,
               "cannot lock " + path_ + ": " + std::generic_category().message(failure));
}

void RelayLock::release() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

}  // namespace drom::outbox
