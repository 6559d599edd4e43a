#include "connectors/seda/seda_queue.hpp"

#include <algorithm>

namespace drom::seda {

void Reply::answered(Exchange exchange) {
  if (pending == 0) return;
  answer = std::move(exchange);  // of several consumers the last one counts, as in Camel
  if (--pending == 0) alarm->ring();
}

void Reply::failed(Error error) {
  if (pending == 0) return;
  failure = std::move(error);
  if (--pending == 0) alarm->ring();
}

Result<void> Queue::fix_size(size_t size, bool given) {
  if (!given) return {};
  if (size_given_ && size != size_)
    return Error(ErrorKind::config,
                 "'seda:" + name_ + "' has size " + std::to_string(size_) + " elsewhere and " +
                     std::to_string(size) + " here",
                 "give the size of a queue once");
  size_ = size;
  size_given_ = true;
  return {};
}

bool Queue::full() const {
  if (common_->items.size() >= size_) return true;
  return std::any_of(own_.begin(), own_.end(),
                     [&](const auto& inbox) { return inbox->items.size() >= size_; });
}

void Queue::push(Item item) {
  if (own_.empty()) {
    common_->items.push_back(std::move(item));
    common_->consumers.ring_one();
    return;
  }
  if (item.reply) item.reply->pending = own_.size();
  for (const auto& inbox : own_) {
    inbox->items.push_back(Item{item.exchange.copy(), item.reply});
    inbox->consumers.ring_one();
  }
}

void Queue::withdraw(const Reply& reply) {
  const auto of_reply = [&](const Item& item) { return item.reply.get() == &reply; };
  std::erase_if(common_->items, of_reply);
  for (const auto& inbox : own_) std::erase_if(inbox->items, of_reply);
  space.ring_one();
}

std::shared_ptr<Inbox> Queue::subscribe(bool multiple) {
  ++declared_;
  if (!multiple) return common_;
  auto inbox = std::make_shared<Inbox>();
  // What was sent before the first consumer came is for the first.
  if (own_.empty()) inbox->items = std::exchange(common_->items, {});
  own_.push_back(inbox);
  return inbox;
}

void Queue::unsubscribe(const std::shared_ptr<Inbox>& inbox) {
  --declared_;
  std::erase(own_, inbox);
}

}  // namespace drom::seda
