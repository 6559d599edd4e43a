// An operating system lock on a file beside a SQLite database: whoever holds it is the only relay
// of that outbox on this machine, and when its process dies, however it dies, the lock is free at
// once. That is why a restarted process need not wait for the lease of the one that was killed.
// Lock files are left in place; removing them would let two holders in. No waiting; any thread.
#pragma once

#include <string>

#include "drom/base/error.hpp"

namespace drom::outbox {

class RelayLock {
 public:
  explicit RelayLock(std::string path) : path_(std::move(path)) {}
  ~RelayLock() { release(); }
  RelayLock(const RelayLock&) = delete;
  RelayLock& operator=(const RelayLock&) = delete;

  // True: held now. False: another relay holds it.
  Result<bool> try_acquire();
  void release();
  bool held() const { return file_ >= 0; }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace drom::outbox
