#include "connectors/rabbitmq/content.hpp"

#include "connectors/rabbitmq/message.hpp"

namespace drom::rabbitmq {
namespace {

// No broker lets a larger one pass by default, and a header frame may say anything.
constexpr uint64_t kReserveMax = 1024 * 1024;

}  // namespace

Message Incoming::to_message() && {
  Message out;
  out.headers = from_properties(*properties);
  out.headers.append("rabbitmq.exchange", Value(std::move(exchange)));
  out.headers.append("rabbitmq.routingKey", Value(std::move(routing_key)));
  out.headers.append("rabbitmq.redelivered", Value(redelivered));
  out.body = Value(Bytes(std::move(body)));
  return out;
}

void ContentReader::begin(const amqp_method_t& method) {
  current_ = Incoming();
  in_message_ = true;
  if (method.id == AMQP_BASIC_DELIVER_METHOD) {
    const auto* deliver = static_cast<amqp_basic_deliver_t*>(method.decoded);
    current_.tag = deliver->delivery_tag;
    current_.redelivered = deliver->redelivered != 0;
    current_.exchange = view(deliver->exchange);
    current_.routing_key = view(deliver->routing_key);
  } else if (method.id == AMQP_BASIC_RETURN_METHOD) {
    const auto* back = static_cast<amqp_basic_return_t*>(method.decoded);
    current_.returned = true;
    current_.reply_code = back->reply_code;
    current_.reply_text = view(back->reply_text);
    current_.exchange = view(back->exchange);
    current_.routing_key = view(back->routing_key);
  } else {
    in_message_ = false;
  }
}

std::optional<Incoming> ContentReader::take(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    begin(frame.payload.method);
    return std::nullopt;
  }
  if (!in_message_) return std::nullopt;
  if (frame.frame_type == AMQP_FRAME_HEADER) {
    expected_ = frame.payload.properties.body_size;
    current_.properties = static_cast<amqp_basic_properties_t*>(frame.payload.properties.decoded);
    current_.body.reserve(std::min(expected_, kReserveMax));
  } else if (frame.frame_type == AMQP_FRAME_BODY) {
    current_.body.append(view(frame.payload.body_fragment));
  }
  if (current_.body.size() < expected_ || !current_.properties) return std::nullopt;
  in_message_ = false;
  return std::move(current_);
}

}  // namespace drom::rabbitmq
