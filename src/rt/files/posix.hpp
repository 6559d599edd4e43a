// File descriptors that close themselves, and what errno means to a route. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "drom/base/error.hpp"

namespace drom::file {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// "cannot write 'out/a.txt': No space left on device". The kind decides about retries: a full disk
// is transient, a lost mount not_connected, a missing right rejected. The type is errno's name.
Error io_error(int code, std::string_view action, std::string_view path);

// All of `data`, or an error.
Result<void> write_all(int fd, std::string_view data, std::string_view path);
// Waits until the disk has it.
Result<void> sync_file(int fd, std::string_view path);

}  // namespace drom::file
