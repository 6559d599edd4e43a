// A TCP proxy that misbehaves on command: it stands between an engine and its server so that a
// test can take the network away, slow it down, slice it, or swallow the one answer that matters.
// Its own thread does the work; the members may be called from any other thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace drom::chaos {

enum class ProxyMode : uint8_t {
  pass,
  down,       // connections end, new ones are refused
  blackhole,  // connections stay, nothing goes through; what was sent arrives after healing
  reset,      // connections end with RST, new ones at their first byte
  slice,      // one byte per segment
  delay,      // every piece waits
  mute,       // answers stay here until healing, requests go through
  bandwidth,  // at most so many bytes per second and direction
};

// All but pass.
constexpr ProxyMode kProxyFaults[] = {ProxyMode::down,     ProxyMode::blackhole, ProxyMode::reset,
                                      ProxyMode::slice,    ProxyMode::delay,     ProxyMode::mute,
                                      ProxyMode::bandwidth};

struct ProxyFault {
  ProxyMode mode = ProxyMode::pass;
  std::chrono::milliseconds delay{20};
  size_t bytes_per_second = 64 * 1024;
};

class FaultProxy {
 public:
  // Listens on `port` of 127.0.0.1 (0: a free one) and connects to `upstream_port` there.
  explicit FaultProxy(uint16_t upstream_port, uint16_t port = 0);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  uint16_t port() const;
  // Takes effect on open connections, too; returns when it has.
  void set(ProxyFault fault);
  void heal() { set(ProxyFault()); }
  // Ends all connections; new ones work.
  void cut() {
    set({ProxyMode::down});
    heal();
  }
  // The next connection whose server has sent `bytes` more bytes is reset at that byte.
  void cut_reply_after(size_t bytes);
  // The next answer that contains `text` is not passed on; its connection is reset. So
  // "COMMIT" leaves a PostgreSQL client with a commit of unknown result.
  void cut_reply_at(std::string text);
  // How often a reply has been cut.
  uint64_t cuts() const;
  uint64_t connections() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

const char* to_string(ProxyMode mode);

}  // namespace drom::chaos
