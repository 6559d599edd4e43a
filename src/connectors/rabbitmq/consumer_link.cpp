#include "connectors/rabbitmq/consumer_link.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "connectors/rabbitmq/message.hpp"

namespace drom::rabbitmq {
namespace {

// Frames read before acknowledgements get their turn.
constexpr int kFramesMax = 512;

}  // namespace

ConsumerLink::ConsumerLink(boost::asio::io_context& io, EndpointOptions options,
                           std::function<void()> arrived)
    : io_(io),
      options_(std::move(options)),
      arrived_(std::make_shared<std::function<void()>>(std::move(arrived))),
      lane_(io, "rabbitmq-in") {}

ConsumerLink::~ConsumerLink() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.ring();
}

async<Result<void>> ConsumerLink::open() {
  stopping_ = false;
  settlements_.clear();
  ready_.clear();
  failure_.reset();
  Result<void> connected = co_await lane_.call([this] { return connect(); });
  if (connected) lane_.push([this] { loop(); });
  co_return connected;
}

Result<void> ConsumerLink::connect() {
  fresh_.clear();
  broken_.reset();
  content_ = ContentReader();
  open_ = AckWindow();
  Result<std::unique_ptr<Connection>> made = Connection::open(options_.broker, options_.uri);
  if (!made) return made.error();
  Result<void> ready = (*made)->declare(options_.topology);
  if (ready) ready = (*made)->consume(options_.topology, options_.consumer);
  if (!ready) {
    (*made)->close();
    return ready;
  }
  connection_ = std::move(*made);
  return {};
}

Result<std::vector<Delivery>> ConsumerLink::take(size_t max) {
  const std::lock_guard lock(mutex_);
  if (ready_.empty() && failure_) return *std::exchange(failure_, std::nullopt);
  std::vector<Delivery> out;
  if (ready_.size() <= max) {
    out.swap(ready_);
  } else {
    const auto end = ready_.begin() + static_cast<ptrdiff_t>(max);
    out.assign(std::make_move_iterator(ready_.begin()), std::make_move_iterator(end));
    ready_.erase(ready_.begin(), end);
  }
  return out;
}

void ConsumerLink::settle(std::vector<Settlement> settlements) {
  if (settlements.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    std::move(settlements.begin(), settlements.end(), std::back_inserter(settlements_));
  }
  wake_.ring();
}

async<> ConsumerLink::close() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.ring();
  co_await lane_.call([this] {
    if (connection_) connection_->close();
    connection_.reset();
  });
}

void ConsumerLink::loop() {
  bool more = false;
  while (true) {
    std::vector<Settlement> settlements;
    bool stop = false;
    {
      const std::lock_guard lock(mutex_);
      settlements.swap(settlements_);
      stop = stopping_;
    }
    if (!apply(settlements)) broken_ = connection_->error();
    if (stop) return;
    if (!broken_) read_all();
    more = !fresh_.empty();
    post();
    if (broken_) return;  // what is open then comes again with the next connection
    connection_->wait(wake_.fd(), more);
    wake_.reset();
  }
}

bool ConsumerLink::apply(const std::vector<Settlement>& settlements) {
  std::vector<uint64_t> acks;
  int status = AMQP_STATUS_OK;
  amqp_connection_state_t state = connection_ ? connection_->get() : nullptr;
  for (const Settlement& settlement : settlements) {
    if (settlement.reply) status = send_reply(*settlement.reply);
    if (status != AMQP_STATUS_OK) break;
    if (settlement.verdict == Verdict::ack) {
      acks.push_back(settlement.tag);
    } else if (open_.settle(settlement.tag)) {
      status = amqp_basic_reject(state, kChannel, settlement.tag,
                                 settlement.verdict == Verdict::requeue ? 1 : 0);
    }
    if (status != AMQP_STATUS_OK) break;
  }
  if (status == AMQP_STATUS_OK && !acks.empty()) {
    const AckPlan plan = open_.plan(acks);
    if (plan.up_to > 0) status = amqp_basic_ack(state, kChannel, plan.up_to, 1);
    for (const uint64_t tag : plan.single)
      if (status == AMQP_STATUS_OK) status = amqp_basic_ack(state, kChannel, tag, 0);
  }
  if (status == AMQP_STATUS_OK) return true;
  connection_->lose(status);
  return false;
}

// Not confirmed: when the connection goes before the acknowledgement, the request comes again.
int ConsumerLink::send_reply(const Outgoing& reply) {
  Table table(reply.headers);
  const amqp_basic_properties_t properties = to_properties(reply, table);
  return amqp_basic_publish(connection_->get(), kChannel, amqp_empty_bytes,
                            bytes(reply.routing_key), 0, 0, &properties, bytes(reply.body.raw()));
}

void ConsumerLink::read_all() {
  amqp_frame_t frame;
  for (int i = 0; i < kFramesMax; ++i) {
    const Connection::Read read = connection_->read(frame);
    if (read == Connection::Read::nothing) break;
    if (read == Connection::Read::lost) {
      broken_ = connection_->error();
      // A poll that fails closes and reopens with backoff, whatever the broker's reason was.
      broken_->kind = ErrorKind::not_connected;
      return;
    }
    take_frame(frame);
    if (broken_) return;
    if (!content_.in_message()) amqp_maybe_release_buffers(connection_->get());
  }
}

void ConsumerLink::take_frame(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD &&
      frame.payload.method.id == AMQP_BASIC_CANCEL_METHOD) {
    broken_ = Error(ErrorKind::not_connected,
                    options_.uri + ": the broker has cancelled the subscription",
                    "a queue was deleted or has moved; it is subscribed again when it is there");
    return;
  }
  std::optional<Incoming> message = content_.take(frame);
  if (!message || message->returned) return;
  Delivery delivery;
  delivery.tag = message->tag;
  const amqp_basic_properties_t& properties = *message->properties;
  if (options_.consumer.replies && properties._flags & AMQP_BASIC_REPLY_TO_FLAG)
    delivery.reply_to = view(properties.reply_to);
  if (properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG)
    delivery.correlation_id = view(properties.correlation_id);
  delivery.message = std::move(*message).to_message();
  open_.delivered();
  fresh_.push_back(std::move(delivery));
}

void ConsumerLink::post() {
  if (fresh_.empty() && !broken_) return;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = ready_.empty() && !failure_;
    std::move(fresh_.begin(), fresh_.end(), std::back_inserter(ready_));
    if (broken_) {
      failure_ = broken_;
      ready_.clear();  // the broker delivers them again
    }
  }
  fresh_.clear();
  if (!was_empty && !broken_) return;
  boost::asio::post(io_, [weak = std::weak_ptr(arrived_)] {
    if (const auto arrived = weak.lock()) (*arrived)();
  });
}

}  // namespace drom::rabbitmq
