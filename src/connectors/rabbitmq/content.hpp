// Puts the frames of deliveries and returned messages together. No I/O; one thread.
#pragma once

#include <amqp.h>

#include <cstdint>
#include <optional>
#include <string>

#include "drom/model/exchange.hpp"

namespace drom::rabbitmq {

struct Incoming {
  bool returned = false;  // by basic.return; else a delivery
  uint64_t tag = 0;
  bool redelivered = false;
  int reply_code = 0;  // returned: why
  std::string reply_text;
  std::string exchange;
  std::string routing_key;
  // Valid until the buffers of the connection are released.
  const amqp_basic_properties_t* properties = nullptr;
  std::string body;

  // As a route sees it.
  Message to_message() &&;
};

class ContentReader {
 public:
  // The message that this frame completes.
  std::optional<Incoming> take(const amqp_frame_t& frame);
  // The frames read so far are still needed.
  bool in_message() const { return in_message_; }

 private:
  void begin(const amqp_method_t& method);

  Incoming current_;
  uint64_t expected_ = 0;
  bool in_message_ = false;
};

}  // namespace drom::rabbitmq
