// A TCP proxy between a client under test and a broker, that can be cut and paused. It has a thread
// of its own. Tests only.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "drom/base/assert.hpp"

namespace drom::testing {

class CutProxy {
 public:
  explicit CutProxy(int target) : target_(target), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = local(0);
    DROM_ASSERT(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    DROM_ASSERT(::listen(listener_, 16) == 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { loop(); });
  }
  ~CutProxy() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  CutProxy(const CutProxy&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Ends all connections; new ones work.
  void cut() {
    cut_ = true;
    while (cut_) ::usleep(200);
  }
  // Ends all connections, and all new ones at once.
  void refuse(bool refused) {
    refused_ = refused;
    cut();
  }
  // Carries nothing, and takes no new connections, until it is resumed.
  void pause(bool paused) { paused_ = paused; }
  // What the broker says stays here; what the client says is carried.
  void mute(bool muted) { muted_ = muted; }
  int connections() const { return connections_; }

 private:
  struct Pair {
    int client;
    int broker;
  };

  static sockaddr_in local(int port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    out.sin_port = htons(static_cast<uint16_t>(port));
    return out;
  }
  static bool carry(int from, int to) {
    char buffer[65536];
    const ssize_t got = ::recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t more = ::send(to, buffer + sent, static_cast<size_t>(got - sent), MSG_NOSIGNAL);
      if (more <= 0) return false;
      sent += more;
    }
    return true;
  }
  void accept_one() {
    Pair pair{::accept(listener_, nullptr, nullptr), ::socket(AF_INET, SOCK_STREAM, 0)};
    const sockaddr_in address = local(target_);
    if (pair.client < 0 ||
        ::connect(pair.broker, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return end(pair);
    pairs_.push_back(pair);
    ++connections_;
  }
  static void end(const Pair& pair) {
    ::close(pair.client);
    ::close(pair.broker);
  }
  void loop() {
    while (!stop_) {
      if (cut_) {
        for (const Pair& pair : pairs_) end(pair);
        pairs_.clear();
        cut_ = false;
      }
      if (paused_) {
        ::usleep(1000);
        continue;
      }
      std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        fds.push_back({pair.client, POLLIN, 0});
        fds.push_back({muted_ ? -1 : pair.broker, POLLIN, 0});
      }
      ::poll(fds.data(), fds.size(), 2);
      std::vector<Pair> alive;
      for (size_t i = 0; i < pairs_.size(); ++i) {
        bool good = true;
        if (fds[1 + 2 * i].revents) good = carry(pairs_[i].client, pairs_[i].broker);
        if (good && fds[2 + 2 * i].revents) good = carry(pairs_[i].broker, pairs_[i].client);
        if (good)
          alive.push_back(pairs_[i]);
        else
          end(pairs_[i]);
      }
      pairs_ = std::move(alive);
      if (fds[0].revents) accept_one();
    }
    for (const Pair& pair : pairs_) end(pair);
  }

  int target_;
  int listener_;
  int port_ = 0;
  std::atomic<bool> stop_ = false, cut_ = false, paused_ = false, refused_ = false, muted_ = false;
  std::atomic<int> connections_ = 0;
  std::vector<Pair> pairs_;
  std::thread thread_;
};

}  // namespace drom::testing
