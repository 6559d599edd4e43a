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
  in_message_ = false;
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
    settlements_.insert(settlements_.end(), settlements.begin(), settlements.end());
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
  for (const Settlement& settlement : settlements) {
    int status = AMQP_STATUS_OK;
    if (settlement.verdict == Verdict::ack)
      status = amqp_basic_ack(connection_->get(), kChannel, settlement.tag, 0);
    else
      status = amqp_basic_reject(connection_->get(), kChannel, settlement.tag,
                                 settlement.verdict == Verdict::requeue ? 1 : 0);
    if (status == AMQP_STATUS_OK) continue;
    connection_->lose(status);
    return false;
  }
  return true;
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
    if (!in_message_) amqp_maybe_release_buffers(connection_->get());
  }
}

void ConsumerLink::take_frame(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    if (frame.payload.method.id == AMQP_BASIC_CANCEL_METHOD) {
      broken_ = Error(ErrorKind::not_connected,
                      options_.uri + ": the broker has cancelled the subscription",
                      "a queue was deleted or has moved; it is subscribed again when it is there");
      return;
    }
    if (frame.payload.method.id != AMQP_BASIC_DELIVER_METHOD) return;
    const auto* method = static_cast<amqp_basic_deliver_t*>(frame.payload.method.decoded);
    current_ = Delivery();
    current_.tag = method->delivery_tag;
    Headers& headers = current_.message.headers;
    headers.append("rabbitmq.exchange", Value(view(method->exchange)));
    headers.append("rabbitmq.routingKey", Value(view(method->routing_key)));
    headers.append("rabbitmq.redelivered", Value(method->redelivered != 0));
    body_.clear();
    expected_ = 0;
    in_message_ = true;
    return;
  }
  if (!in_message_) return;
  if (frame.frame_type == AMQP_FRAME_HEADER) {
    expected_ = frame.payload.properties.body_size;
    const Headers more = from_properties(
        *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded));
    for (const Headers::Entry& entry : more)
      current_.message.headers.append(entry.first, entry.second);
  } else if (frame.frame_type == AMQP_FRAME_BODY) {
    body_.append(view(frame.payload.body_fragment));
  }
  if (body_.size() >= expected_) deliver();
}

void ConsumerLink::deliver() {
  in_message_ = false;
  current_.message.body = Value(Bytes(std::exchange(body_, std::string())));
  fresh_.push_back(std::move(current_));
}

void ConsumerLink::post() {
  if (fresh_.empty() && !broken_) return;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = ready_.empty() && !failure_;
    std::move(fresh_.begin(), fresh_.end(), std::back_inserter(ready_));
    if (broken_) failure_ = broken_;
  }
  fresh_.clear();
  if (!was_empty && !broken_) return;
  boost::asio::post(io_, [weak = std::weak_ptr(arrived_)] {
    if (const auto arrived = weak.lock()) (*arrived)();
  });
}

}  // namespace drom::rabbitmq
