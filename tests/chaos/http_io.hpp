// Just enough blocking HTTP/1.1 for the campaign, written apart from the engine's own: one thread
// per connection, bodies with a length.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "chaos/child.hpp"

namespace drom::chaos {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int file) : file_(file) {}
  Socket(Socket&& other) noexcept : file_(other.file_), input_(std::move(other.input_)) {
    other.file_ = -1;
  }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }
  // Invalid when nobody listens.
  static Socket connect(uint16_t port, milliseconds timeout);
  // On a free port of 127.0.0.1.
  static Socket listen(uint16_t& port);

  bool valid() const { return file_ >= 0; }
  int file() const { return file_; }
  void close();
  void reset();  // RST
  void timeout(milliseconds time) const;
  bool send(const std::string& text) const;

  struct Message {
    std::string first;                           // request or status line
    std::map<std::string, std::string> headers;  // names in lower case
    std::string body;
  };
  std::optional<Message> receive();

 private:
  bool more();
  int file_ = -1;
  std::string input_;
};

// The status; 0: nobody listens, -1: nobody knows.
int http_post(uint16_t port, const std::string& path, const std::string& body,
              milliseconds timeout);

uint16_t free_port();

}  // namespace drom::chaos
