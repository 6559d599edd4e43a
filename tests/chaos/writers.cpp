#include "chaos/writers.hpp"

#include <algorithm>

#include "chaos/dice.hpp"

namespace drom::chaos {
namespace {

constexpr milliseconds kPatience{3000};

std::string pad(uint64_t& dice) {
  static constexpr const char* kPieces[] = {"tea ",        "Ümläut ", "\"quoted\" ", "back\\slash ",
                                            "line\nline ", "\t",      "日本 ",       "0123456789",
                                            "{}",          "''"};
  const size_t pieces = roll(dice, 40) == 0 ? 600 : 1 + roll(dice, 12);
  std::string out;
  for (size_t i = 0; i < pieces; ++i) out += kPieces[roll(dice, std::size(kPieces))];
  return out;
}

}  // namespace

Writers::Writers(WriterOptions options, const Sink& sink)
    : options_(std::move(options)), sink_(sink) {}

void Writers::start() {
  stopping_ = false;
  for (size_t i = 0; i < options_.through_engine; ++i)
    threads_.emplace_back([this, i] { write(i, false); });
  for (size_t i = 0; i < options_.direct; ++i)
    threads_.emplace_back([this, i] { write(100 + i, true); });
  threads_.emplace_back([this] { replay(); });
}

void Writers::stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

uint16_t Writers::some_engine(uint64_t& dice) const {
  return options_.engines[roll(dice, options_.engines.size())];
}

void Writers::pause(uint64_t& dice) const {
  sleep_for(milliseconds(roll(dice, 2 * static_cast<uint64_t>(options_.pause.count()) + 1)));
}

NewTransaction Writers::make(uint64_t& dice, const std::string& tx, bool direct) const {
  NewTransaction out;
  out.tx = tx;
  out.roll_back = roll(dice, 100) < 8;
  const size_t events = direct ? 1 + roll(dice, 3) : 1;
  for (size_t i = 0; i < events; ++i) {
    NewEvent event;
    event.event = tx + "-" + std::to_string(i);
    event.key = "k" + std::to_string(roll(dice, options_.keys));
    event.pad = pad(dice);
    event.poison = roll(dice, 100) < options_.poison_percent;
    out.events.push_back(std::move(event));
  }
  std::sort(out.events.begin(), out.events.end(),
            [](const NewEvent& a, const NewEvent& b) { return a.key < b.key; });
  return out;
}

void Writers::write(size_t number, bool direct) {
  uint64_t dice = options_.seed * 1000 + number + 7919 * ++starts_;
  const std::unique_ptr<Store> store = direct ? options_.open_store() : nullptr;
  while (!stopping_) {
    const std::string tx =
        options_.prefix + (direct ? kDirect : "") + std::to_string(++transactions_);
    const NewTransaction transaction = make(dice, tx, direct);
    const Intent::Outcome outcome =
        direct ? store->write(transaction) : through_engine(transaction, some_engine(dice));
    note(transaction, outcome);
    pause(dice);
  }
}

Intent::Outcome Writers::through_engine(const NewTransaction& t, uint16_t port) const {
  const int status = http_post(port, "/write", payload(t, t.events.front()), kPatience);
  if (status >= 200 && status < 300) return Intent::Outcome::ok;
  if (status == 0) return Intent::Outcome::fail;
  if (t.roll_back && status == 400) return Intent::Outcome::fail;
  return Intent::Outcome::info;
}

void Writers::note(const NewTransaction& t, Intent::Outcome outcome) {
  const std::lock_guard lock(mutex_);
  for (const NewEvent& event : t.events) {
    Intent intent;
    intent.tx = t.tx;
    intent.event = event.event;
    intent.key = event.key;
    intent.hash = payload_hash(event.pad);
    intent.outcome = outcome;
    intent.at_ns = now_ns();
    intents_.push_back(std::move(intent));
  }
}

void Writers::replay() {
  uint64_t dice = options_.seed * 31 + ++starts_;
  while (!stopping_) {
    const std::string body = sink_.replay(roll(dice));
    if (!body.empty()) {
      const uint16_t first = some_engine(dice);
      const uint16_t second = some_engine(dice);
      std::thread twin;
      if (roll(dice, 3) == 0)
        twin = std::thread([&] { http_post(second, "/apply", body, kPatience); });
      if (http_post(first, "/apply", body, kPatience) > 0) ++replays_;
      if (twin.joinable()) twin.join();
    }
    pause(dice);
  }
}

}  // namespace drom::chaos
