#include "chaos/http_io.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>

namespace drom::chaos {
namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  close();
  file_ = other.file_;
  input_ = std::move(other.input_);
  other.file_ = -1;
  return *this;
}

Socket Socket::connect(uint16_t port, milliseconds timeout) {
  Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  out.timeout(timeout);
  const sockaddr_in address = loopback(port);
  if (::connect(out.file_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    out.close();
  return out;
}

// Ports below those that the system gives to outgoing connections: while a listener is away
// (killed, or down on purpose) nobody else may get its port, nor connect to itself.
Socket Socket::listen(uint16_t& port) {
  constexpr uint16_t kFirst = 20'000, kCount = 12'000;
  static std::atomic<uint32_t> next{static_cast<uint32_t>(::getpid()) * 101};
  for (int tries = 0; tries < 1000; ++tries) {
    port = static_cast<uint16_t>(kFirst + next++ % kCount);
    Socket out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = loopback(port);
    if (::bind(out.file_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::listen(out.file_, 512) == 0)
      return out;
  }
  std::abort();
}

void Socket::close() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
}

void Socket::reset() {
  const linger hard{1, 0};
  if (file_ >= 0) ::setsockopt(file_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

void Socket::timeout(milliseconds time) const {
  timeval limit{};
  limit.tv_sec = time.count() / 1000;
  limit.tv_usec = (time.count() % 1000) * 1000;
  ::setsockopt(file_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(file_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  ::setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool Socket::send(const std::string& text) const {
  size_t at = 0;
  while (at < text.size()) {
    const auto sent = ::send(file_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

bool Socket::more() {
  char data[8192];
  const auto got = ::recv(file_, data, sizeof data, 0);
  if (got <= 0) return false;
  input_.append(data, static_cast<size_t>(got));
  return true;
}

std::optional<Socket::Message> Socket::receive() {
  size_t end = 0;
  while ((end = input_.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return std::nullopt;
  Message out;
  size_t at = input_.find("\r\n");
  out.first = input_.substr(0, at);
  while (at < end) {
    const size_t begin = at + 2;
    at = input_.find("\r\n", begin);
    const std::string line = input_.substr(begin, at - begin);
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const size_t value = line.find_first_not_of(' ', colon + 1);
    out.headers[name] = value == std::string::npos ? "" : line.substr(value);
  }
  const auto length = out.headers.find("content-length");
  const size_t size =
      length == out.headers.end() ? 0 : std::strtoul(length->second.c_str(), nullptr, 10);
  input_.erase(0, end + 4);
  while (input_.size() < size)
    if (!more()) return std::nullopt;
  out.body = input_.substr(0, size);
  input_.erase(0, size);
  return out;
}

int http_post(uint16_t port, const std::string& path, const std::string& body,
              milliseconds timeout) {
  Socket socket = Socket::connect(port, timeout);
  if (!socket.valid()) return 0;
  const std::string request = "POST " + path +
                              " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                              "Content-Type: application/json\r\nContent-Length: " +
                              std::to_string(body.size()) + "\r\n\r\n" + body;
  if (!socket.send(request)) return -1;
  const auto answer = socket.receive();
  if (!answer || answer->first.size() < 12) return -1;
  return std::atoi(answer->first.c_str() + 9);
}

uint16_t free_port() {
  uint16_t port = 0;
  Socket::listen(port);
  return port;
}

}  // namespace drom::chaos
