#include "connectors/rabbitmq/producer_link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <unordered_set>

namespace drom::rabbitmq {
namespace {

// Messages published, and frames read, before the other side gets its turn.
constexpr int kPublishMax = 64;
constexpr int kFramesMax = 512;
constexpr std::string_view kReplies = "amq.rabbitmq.reply-to";

// "message size 20 larger than max size 10": the size of the message that made the broker close
// the channel.
std::optional<size_t> refused_size(const Error& error) {
  constexpr std::string_view kSays = "message size ";
  const size_t at = error.what.find(kSays);
  if (at == std::string::npos) return std::nullopt;
  size_t out = 0;
  const char* const begin = error.what.data() + at + kSays.size();
  const auto [end, problem] = std::from_chars(begin, error.what.data() + error.what.size(), out);
  return problem == std::errc() && end != begin ? std::optional(out) : std::nullopt;
}

}  // namespace

ProducerLink::ProducerLink(boost::asio::io_context& io, EndpointOptions options,
                           std::function<void()> answered)
    : io_(io),
      options_(std::move(options)),
      answered_(std::make_shared<std::function<void()>>(std::move(answered))),
      lane_(io, "rabbitmq-out") {}

ProducerLink::~ProducerLink() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  wake_.ring();
}

async<Result<void>> ProducerLink::open() {
  stopping_ = false;
  sends_.clear();
  forgotten_.clear();
  answers_.clear();
  Result<void> connected = co_await lane_.call([this] { return connect(); });
  lane_.push([this] { loop(); });
  co_return connected;
}

void ProducerLink::send(std::vector<Send> sends) {
  {
    const std::lock_guard lock(mutex_);
    std::move(sends.begin(), sends.end(), std::back_inserter(sends_));
  }
  wake_.ring();
}

void ProducerLink::forget(uint64_t id) {
  const std::lock_guard lock(mutex_);
  forgotten_.push_back(id);
  wake_.ring();
}

void ProducerLink::reset() {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
}

std::vector<Answer> ProducerLink::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

LinkState ProducerLink::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

async<> ProducerLink::close() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.ring();
  co_await lane_.call([this] {
    {
      const std::lock_guard lock(mutex_);
      socket_ = -1;
    }
    if (connection_) connection_->close();
    connection_.reset();
    lose(Error(ErrorKind::cancelled, options_.uri + ": stopped before the confirm"));
    post();
  });
}

Result<void> ProducerLink::connect() {
  Result<std::unique_ptr<Connection>> made = Connection::open(options_.broker, options_.uri);
  Result<void> ready;
  if (made) {
    ready = (*made)->declare(options_.producer_topology);
    if (ready && !options_.producer.park_queue.empty())
      ready = (*made)->declare_lasting_queue(options_.producer.park_queue);
    if (ready) ready = (*made)->select_confirms();
    if (!ready) (*made)->close();
  } else {
    ready = made.error();
  }
  if (!ready) return ready;
  connection_ = std::move(*made);
  content_ = ContentReader();
  first_tag_ = 1;
  listens_ = false;
  const std::lock_guard lock(mutex_);
  socket_ = connection_->socket();
  return {};
}

void ProducerLink::loop() {
  while (!collect()) {
    if (!connection_ && !queue_.empty()) {
      Result<void> connected = connect();
      if (!connected) lose(connected.error());
    }
    if (connection_) publish();
    if (connection_) read_all();
    post();
    if (connection_) {
      connection_->wait(wake_.fd(), !queue_.empty() && !connection_->blocked());
    } else if (queue_.empty()) {
      pollfd woken = {wake_.fd(), POLLIN, 0};
      ::poll(&woken, 1, -1);
    }
    wake_.reset();
  }
}

// What the shard has handed over. True: it is over.
bool ProducerLink::collect() {
  std::vector<uint64_t> forgotten;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return true;
    std::move(sends_.begin(), sends_.end(), std::back_inserter(queue_));
    sends_.clear();
    forgotten.swap(forgotten_);
  }
  if (forgotten.empty()) return false;
  const std::unordered_set<uint64_t> ids(forgotten.begin(), forgotten.end());
  std::erase_if(requests_, [&](const auto& request) { return ids.contains(request.second); });
  std::erase_if(queue_, [&](const Send& send) {
    if (!ids.contains(send.id)) return false;
    answer(send.id, Error(ErrorKind::cancelled, "given up before it was sent"));
    return true;
  });
  return false;
}

void ProducerLink::publish() {
  for (int i = 0; i < kPublishMax && !queue_.empty() && !connection_->blocked(); ++i) {
    Send send = std::move(queue_.front());
    queue_.pop_front();
    Result<void> published = publish_one(std::move(send), false);
    if (published) continue;
    lose(published.error());
    return;
  }
}

// The header of a message travels in one frame, which the broker may have made smaller than ours.
bool ProducerLink::fits(const Outgoing& message) const {
  constexpr size_t kProperties = 3000;  // all the short strings at their longest
  const auto frame_max = static_cast<size_t>(amqp_get_frame_max(connection_->get()));
  if (frame_max >= kHeadersMax + kProperties) return true;
  Table table(message.headers);
  return table.encoded().size() + kProperties <= frame_max;
}

Result<void> ProducerLink::publish_one(Send send, bool parked) {
  const uint64_t id = send.id;
  if (!fits(send.message)) {
    answer(id, Error(ErrorKind::data,
                     options_.uri + ": the headers do not fit into one frame of the broker",
                     "remove the large ones, or raise frame_max of the broker"));
    return {};
  }
  if (send.request) {
    if (!listens_) {
      Result<void> listening = connection_->consume_replies(kReplies);
      if (!listening) {
        pending_.push_back({std::move(send), false, {}, false, parked});
        return listening;
      }
      listens_ = true;
    }
    if (!requests_.emplace(*send.message.correlation_id, id).second) {
      answer(id, Error(ErrorKind::data, options_.uri +
                                            ": another request waits with the correlation id '" +
                                            *send.message.correlation_id + "'"));
      return {};
    }
    send.message.reply_to = kReplies;
  }
  // From here on it has a number, as it has one with the broker.
  pending_.push_back({std::move(send), false, {}, false, parked});
  const Outgoing& message = pending_.back().send.message;
  Table table(message.headers);
  const amqp_basic_properties_t properties = to_properties(message, table);
  const int status = amqp_basic_publish(
      connection_->get(), kChannel, bytes(parked ? std::string_view() : options_.topology.exchange),
      bytes(message.routing_key), options_.producer.mandatory ? 1 : 0, 0, &properties,
      bytes(message.body.raw()));
  if (status == AMQP_STATUS_OK) return {};
  connection_->lose(status);
  return connection_->error();
}

void ProducerLink::read_all() {
  amqp_frame_t frame;
  for (int i = 0; i < kFramesMax; ++i) {
    const Connection::Read read = connection_->read(frame);
    if (read == Connection::Read::nothing) break;
    if (read == Connection::Read::lost) {
      lose(connection_->error());
      return;
    }
    take_frame(frame);
    if (!connection_) return;
    if (!content_.in_message()) amqp_maybe_release_buffers(connection_->get());
  }
  const std::string& blocked = connection_->block_reason();
  if (blocked == now_.blocked) return;
  now_.blocked = blocked;
  changed_ = true;
}

void ProducerLink::take_frame(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    const amqp_method_t& method = frame.payload.method;
    if (method.id == AMQP_BASIC_ACK_METHOD) {
      const auto* ack = static_cast<amqp_basic_ack_t*>(method.decoded);
      return confirm(ack->delivery_tag, ack->multiple != 0, true);
    }
    if (method.id == AMQP_BASIC_NACK_METHOD) {
      const auto* nack = static_cast<amqp_basic_nack_t*>(method.decoded);
      return confirm(nack->delivery_tag, nack->multiple != 0, false);
    }
  }
  std::optional<Incoming> message = content_.take(frame);
  if (!message) return;
  if (message->returned)
    take_returned(*message);
  else
    take_reply(std::move(*message));
}

void ProducerLink::take_returned(const Incoming& message) {
  const ProducerOptions& producer = options_.producer;
  const Error error(ErrorKind::rejected,
                    options_.uri + ": unroutable, " + std::to_string(message.reply_code) + " " +
                        message.reply_text + ": no queue is bound for the routing key '" +
                        message.routing_key + "'",
                    "bind a queue, or choose what becomes of such messages with unroutable=park "
                    "or unroutable=drop");
  const auto note = [&](Pending& pending) {
    if (pending.parked || producer.unroutable == Unroutable::fail)
      pending.returned = error;
    else
      pending.park = producer.unroutable == Unroutable::park;
    // Nobody is there who could answer.
    if (pending.send.request) pending.returned = error;
  };
  for (Pending& pending : pending_) {
    if (pending.ended || pending.returned || pending.park) continue;
    if (!is_same(pending.send.message, message.routing_key, *message.properties, message.body))
      continue;
    note(pending);
    return;
  }
  // Something on the way has changed it. It is one of those with its key; better one too many.
  for (Pending& pending : pending_)
    if (!pending.ended && pending.send.message.routing_key == message.routing_key) note(pending);
}

void ProducerLink::take_reply(Incoming message) {
  if (!(message.properties->_flags & AMQP_BASIC_CORRELATION_ID_FLAG)) return;
  const auto request = requests_.find(std::string(view(message.properties->correlation_id)));
  if (request == requests_.end()) return;  // nobody waits any more
  Answer reply;
  reply.id = request->second;
  reply.ended = false;
  reply.reply = std::move(message).to_message();
  fresh_.push_back(std::move(reply));
  requests_.erase(request);
}

void ProducerLink::confirm(uint64_t tag, bool multiple, bool taken) {
  const uint64_t end_tag = first_tag_ + pending_.size();
  if (multiple && tag == 0) tag = end_tag - 1;  // all
  if (tag < first_tag_ || tag >= end_tag) return;
  for (uint64_t at = multiple ? first_tag_ : tag; at <= tag; ++at) {
    Pending& pending = pending_[at - first_tag_];
    if (!pending.ended) end(pending, taken);
    if (!connection_) return;
  }
  while (!pending_.empty() && pending_.front().ended) {
    pending_.pop_front();
    ++first_tag_;
  }
}

void ProducerLink::end(Pending& pending, bool taken) {
  pending.ended = true;
  if (!taken) {
    answer(pending.send.id,
           Error(ErrorKind::transient,
                 options_.uri + ": the broker could not take the message (basic.nack)",
                 "look into the broker's log; a queue with x-overflow=reject-publish may be full"));
  } else if (pending.park && !pending.returned) {
    Send copy = std::move(pending.send);
    copy.message.headers.set("x-unroutable-exchange", Value(options_.topology.exchange));
    copy.message.headers.set("x-unroutable-routing-key", Value(copy.message.routing_key));
    copy.message.routing_key = options_.producer.park_queue;
    Result<void> published = publish_one(std::move(copy), true);
    if (!published) lose(published.error());
  } else {
    answer(pending.send.id, std::move(pending.returned));
  }
}

void ProducerLink::answer(uint64_t id, std::optional<Error> error) {
  if (error) std::erase_if(requests_, [id](const auto& request) { return request.second == id; });
  Answer out;
  out.id = id;
  out.error = std::move(error);
  fresh_.push_back(std::move(out));
}

// Whether the broker has what it has not confirmed is not known.
void ProducerLink::lose(Error error) {
  {
    const std::lock_guard lock(mutex_);
    socket_ = -1;
  }
  const bool connected = connection_ != nullptr;
  if (connection_) connection_->close();
  connection_.reset();
  now_.blocked.clear();
  ++now_.losses;
  now_.last = error;
  changed_ = true;
  const std::optional<size_t> too_large = refused_size(error);
  Error unknown = error;
  if (too_large) error.hint = "send less, or raise max_message_size of the broker";
  if (too_large || error.retryable()) unknown.kind = ErrorKind::transient;
  if (connected) unknown.what += "; whether the broker has the message is not known";
  for (Pending& pending : pending_) {
    if (pending.ended) continue;
    const bool culprit = too_large && pending.send.message.body.raw().size() >= *too_large;
    answer(pending.send.id, culprit ? error : unknown);
  }
  pending_.clear();
  // Requests that were confirmed: their replies went with the connection.
  for (const auto& [correlation, id] : requests_) {
    Answer lost;
    lost.id = id;
    lost.ended = false;
    lost.error = unknown;
    fresh_.push_back(std::move(lost));
  }
  requests_.clear();
  if (connected) return;  // what was not sent yet gets the next connection
  for (const Send& send : queue_) answer(send.id, error);
  queue_.clear();
}

void ProducerLink::post() {
  if (fresh_.empty() && !changed_) return;
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    was_empty = answers_.empty();
    std::move(fresh_.begin(), fresh_.end(), std::back_inserter(answers_));
    if (changed_) state_ = now_;
  }
  fresh_.clear();
  if (!was_empty && !changed_) return;
  changed_ = false;
  boost::asio::post(io_, [weak = std::weak_ptr(answered_)] {
    if (const auto answered = weak.lock()) (*answered)();
  });
}

}  // namespace drom::rabbitmq
