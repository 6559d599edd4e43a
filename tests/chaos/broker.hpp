// A broker between the relays and the consumer: a real server, started by with_servers.sh for this
// campaign alone, which starts it again when it dies. What it holds in the end is what the relays
// have delivered; it is read by the broker's own client library, past the engines.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "chaos/history.hpp"

namespace drom::chaos {

class Broker {
 public:
  // `pid_variable` names the environment variable with the file that holds the process id.
  explicit Broker(const char* pid_variable);
  virtual ~Broker() = default;

  virtual std::string name() const = 0;
  // Where engines reach it, by way of a proxy; the proxy must listen on `proxy_port`, 0: anywhere.
  virtual uint16_t port() const = 0;
  virtual uint16_t proxy_port() const { return 0; }
  // The topic or the queues. Throws std::runtime_error.
  virtual void create() = 0;
  // Everything that the relays have brought, in order per key. Throws std::runtime_error.
  virtual std::vector<Delivered> delivered() = 0;
  virtual bool answers() = 0;
  // The URIs of the relay and of the consumer, with their parameters in YAML. {{broker}} is the
  // proxy's port, {{engine}} the engine's number.
  virtual std::string sink() const = 0;
  virtual std::string source() const = 0;

  // Waits for it, as a slow machine or a fresh start needs. False: it has not come.
  bool comes();

  void kill() { signal(9); }
  void pause() { signal(19); }
  void resume() { signal(18); }

 protected:
  // From the payload and the header seq.
  Delivered delivered_of(std::string_view payload, const std::string& seq) const;

 private:
  void signal(int number) const;
  std::string pid_file_;
};

// Throws std::runtime_error when the environment names no such server.
std::unique_ptr<Broker> open_kafka();
std::unique_ptr<Broker> open_rabbitmq();

}  // namespace drom::chaos
