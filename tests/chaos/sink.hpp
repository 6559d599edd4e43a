// Where the relays deliver: an HTTP server inside the campaign that is never killed with them. It
// logs what it accepts, in the order of acceptance, and misbehaves on command: refuses, takes and
// does not answer, takes and cuts the connection. A thread per connection.
#pragma once

#include <atomic>
#include <list>
#include <mutex>
#include <thread>

#include "chaos/history.hpp"
#include "chaos/http_io.hpp"

namespace drom::chaos {

// The request line of a webhook that transactions send to; all else belongs to kDeliver.
constexpr const char* kHook = "POST /hook";
constexpr const char* kDeliver = "POST /deliver";

class Sink {
 public:
  explicit Sink(uint64_t seed);
  ~Sink();

  uint16_t port() const { return port_; }
  // How many of 1000 requests go wrong, in one way or another.
  void trouble(unsigned per_mille) { trouble_ = per_mille; }
  std::vector<Delivered> delivered() const;
  size_t accepted() const { return accepted_; }
  // The payload of some event that was accepted; "" when there is none. `dice` chooses.
  std::string replay(uint64_t dice) const;

 private:
  enum class Manner : uint8_t { well, refuse, silence, cut, half };
  struct Session {
    Socket socket;
    std::thread thread;
    std::atomic<bool> done{false};
  };
  void serve();
  void talk(Session& session);
  // False: the connection is over.
  bool take(Session& session, const Socket::Message& request);
  Manner manner();

  Socket listener_;
  uint16_t port_ = 0;
  std::atomic<unsigned> trouble_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<size_t> accepted_{0};
  mutable std::mutex mutex_;  // what follows
  std::vector<Delivered> delivered_;
  std::vector<std::string> payloads_;
  uint64_t dice_;
  std::list<Session> sessions_;
  std::thread thread_;
};

}  // namespace drom::chaos
