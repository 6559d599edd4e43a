#include "chaos/sink.hpp"

#include <sys/socket.h>

#include "chaos/dice.hpp"
#include "drom/base/json.hpp"

namespace drom::chaos {
namespace {

constexpr milliseconds kIdle{30'000};
constexpr milliseconds kSilence{700};  // longer than the relays wait for an answer

std::string text(const Object& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? value->to_text() : std::string();
}

}  // namespace

Sink::Sink(uint64_t seed) : dice_(seed) {
  listener_ = Socket::listen(port_);
  thread_ = std::thread([this] { serve(); });
}

Sink::~Sink() {
  stopping_ = true;
  ::shutdown(listener_.file(), SHUT_RDWR);
  thread_.join();
  for (Session& session : sessions_) {
    if (session.socket.valid()) ::shutdown(session.socket.file(), SHUT_RDWR);
    session.thread.join();
  }
}

void Sink::serve() {
  while (!stopping_) {
    const int file = ::accept4(listener_.file(), nullptr, nullptr, SOCK_CLOEXEC);
    if (file < 0) {
      if (!stopping_) sleep_for(milliseconds(1));
      continue;
    }
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      if (!at->done) {
        ++at;
        continue;
      }
      at->thread.join();
      at = sessions_.erase(at);
    }
    Session& session = sessions_.emplace_back();
    session.socket = Socket(file);
    session.socket.timeout(kIdle);
    session.thread = std::thread([this, &session] {
      talk(session);
      ::shutdown(session.socket.file(), SHUT_RDWR);
      session.done = true;
    });
  }
}

void Sink::talk(Session& session) {
  while (!stopping_) {
    const auto request = session.socket.receive();
    if (!request || !take(session, *request)) return;
  }
}

Sink::Manner Sink::manner() {
  const std::lock_guard lock(mutex_);
  if (roll(dice_, 1000) >= trouble_) return Manner::well;
  switch (roll(dice_, 8)) {
    case 0: return Manner::silence;
    case 1:
    case 2: return Manner::cut;
    case 3: return Manner::half;
    default: return Manner::refuse;
  }
}

bool Sink::take(Session& session, const Socket::Message& request) {
  const auto answer = [&](const char* status) {
    return session.socket.send(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 0\r\n\r\n");
  };
  const Result<Value> body = parse_json(request.body);
  const Object* object = body ? body->as_object() : nullptr;
  const std::string destination = request.first.substr(0, request.first.rfind(' '));
  const bool hook = destination == kHook;
  // For good, in the words that either sender takes for that.
  if (object && text(*object, "poison") == "true")
    return answer(hook ? "413 Content Too Large" : "422 Unprocessable Content");
  const Manner how = manner();
  if (how == Manner::refuse) return answer("500 Internal Server Error");

  Delivered delivered;
  const auto header = [&](const char* name) {
    const auto at = request.headers.find(name);
    return at == request.headers.end() ? std::string() : at->second;
  };
  if (object) read_payload(*object, delivered);
  // What a webhook sends of a message is its body.
  if (!hook) {
    const std::string event = header("eventid");
    if (event != delivered.event) delivered.hash = "of another event";
    delivered.event = event;
  }
  delivered.seq = std::atoll(header("seq").c_str());
  delivered.destination = destination;
  {
    const std::lock_guard lock(mutex_);
    delivered.at_ns = now_ns();
    delivered_.push_back(std::move(delivered));
    if (!hook && payloads_.size() < 20'000) payloads_.push_back(request.body);
  }
  ++accepted_;
  switch (how) {
    case Manner::silence: {
      const int64_t until = now_ns() + std::chrono::nanoseconds(kSilence).count();
      while (!stopping_ && now_ns() < until) sleep_for(milliseconds(10));
      return false;
    }
    case Manner::cut: session.socket.reset(); return false;
    case Manner::half: session.socket.send("HTTP/1.1 200 O"); return false;
    default: return answer("200 OK");
  }
}

std::vector<Delivered> Sink::delivered() const {
  const std::lock_guard lock(mutex_);
  return delivered_;
}

std::string Sink::replay(uint64_t dice) const {
  const std::lock_guard lock(mutex_);
  return payloads_.empty() ? std::string() : payloads_[dice % payloads_.size()];
}

}  // namespace drom::chaos
