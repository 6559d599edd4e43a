// Ends the wait of a link's thread from another one. Any thread.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace drom::rabbitmq {

class Wake {
 public:
  Wake() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Wake() { ::close(fd_); }
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  int fd() const { return fd_; }
  void ring() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
  }
  void reset() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(fd_, &count, sizeof count);
  }

 private:
  int fd_;
};

}  // namespace drom::rabbitmq
