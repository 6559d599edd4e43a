#include <deque>
#include <unordered_map>

#include "connectors/rabbitmq/ends.hpp"
#include "connectors/rabbitmq/message.hpp"
#include "connectors/rabbitmq/producer_link.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::rabbitmq {
namespace {

// Between attempts to connect while the broker refuses.
constexpr milliseconds kBackoffMin{100};
constexpr milliseconds kBackoffMax{5000};

class RabbitProducer final : public Producer {
 public:
  RabbitProducer(EndpointOptions options, BuildContext& context)
      : options_(options.producer),
        uri_(options.uri),
        clock_(context.clock()),
        log_(context.log()),
        link_(context.io(), std::move(options), [this] { take_answers(); }) {}

  bool pipelines() const override { return true; }
  bool defers_in_transaction() const override { return options_.transacted; }

  async<Result<void>> open() override {
    losses_ = 0;
    failures_ = 0;
    not_before_ = SteadyTime();
    Result<void> opened = co_await link_.open();
    co_return opened;
  }
  async<> close() override {
    co_await link_.close();
    take_answers();
  }

  async<> run(Batch& batch, Scope& scope) override {
    Flight flight(*this);
    for (Exchange& exchange : batch)
      if (exchange.running()) begin(exchange, flight, scope);
    hand_over();
    while (flight.left > 0) {
      const auto left = std::chrono::ceil<milliseconds>(flight.due() - clock_.steady());
      if (left <= milliseconds(0)) {
        time_out(flight);
        continue;
      }
      co_await flight.alarm->wait(left);
    }
  }

 private:
  // One run(): what it still waits for. Its end, also by cancellation, gives that up.
  struct Flight {
    explicit Flight(RabbitProducer& owner)
        : producer(owner),
          alarm(owner.clock_.make_alarm()),
          confirm_due(owner.clock_.steady() + owner.options_.confirm_timeout),
          reply_due(owner.clock_.steady() + owner.options_.reply_timeout) {}
    Flight(const Flight&) = delete;
    ~Flight() {
      if (left == 0) return;
      for (const uint64_t id : ids) producer.give_up(id);
    }
    SteadyTime due() const {
      if (requests == 0) return confirm_due;
      return left == requests ? reply_due : std::min(confirm_due, reply_due);
    }
    RabbitProducer& producer;
    std::unique_ptr<Alarm> alarm;
    SteadyTime confirm_due;
    SteadyTime reply_due;
    std::vector<uint64_t> ids;
    size_t left = 0;
    size_t requests = 0;  // of these
  };
  struct Slot {
    Flight* flight = nullptr;
    Exchange* exchange = nullptr;
    bool request = false;
  };

  void begin(Exchange& exchange, Flight& flight, Scope& scope) {
    if (clock_.steady() < not_before_) {
      exchange.fail(refusal_);
      return;
    }
    const WallTime now = clock_.wall();
    Result<Outgoing> message = to_wire(exchange, options_, scope.eval(), now);
    if (!message) {
      message.error().what = uri_ + ": " + message.error().what;
      exchange.fail(std::move(message.error()));
      return;
    }
    Send send;
    send.id = ++last_id_;
    send.request = exchange.pattern == ExchangePattern::in_out;
    send.message = std::move(*message);
    if (send.request && !send.message.correlation_id)
      send.message.correlation_id = std::to_string(send.id);
    slots_.emplace(send.id, Slot{&flight, &exchange, send.request});
    flight.ids.push_back(send.id);
    ++flight.left;
    flight.requests += send.request ? 1 : 0;
    queue_.push_back(std::move(send));
  }

  // As many as the window has room for.
  void hand_over() {
    std::vector<Send> sends;
    if (unconfirmed_ == 0) last_answer_ = clock_.steady();
    while (!queue_.empty() && unconfirmed_ < options_.window) {
      sends.push_back(std::move(queue_.front()));
      queue_.pop_front();
      ++unconfirmed_;
    }
    if (!sends.empty()) link_.send(std::move(sends));
  }

  void take_answers() {
    std::vector<Answer> answers = link_.take();
    for (Answer& answer : answers) take(answer);
    if (!answers.empty()) last_answer_ = clock_.steady();
    note_state();
    hand_over();
  }

  void take(Answer& answer) {
    if (answer.ended) --unconfirmed_;
    if (answer.ended && !answer.error) failures_ = 0;
    const auto at = slots_.find(answer.id);
    if (at == slots_.end()) return;                                    // given up
    if (at->second.request && !answer.error && !answer.reply) return;  // the reply is to come
    const Slot slot = at->second;
    slots_.erase(at);
    if (answer.error) slot.exchange->fail(std::move(*answer.error));
    if (answer.reply) take_reply(*slot.exchange, std::move(*answer.reply));
    finish(slot);
  }

  static void take_reply(Exchange& exchange, Message reply) {
    exchange.message.body = std::move(reply.body);
    for (const Headers::Entry& entry : reply.headers)
      exchange.message.headers.set(entry.first, entry.second);
  }

  static void finish(const Slot& slot) {
    slot.flight->requests -= slot.request ? 1 : 0;
    if (--slot.flight->left == 0) slot.flight->alarm->ring();
  }

  void note_state() {
    const LinkState state = link_.state();
    if (state.blocked != blocked_) {
      blocked_ = state.blocked;
      if (blocked_.empty())
        log_.info("rabbitmq", uri_ + ": the broker takes messages again");
      else
        log_.warn("rabbitmq", uri_ + ": the broker takes no messages: " + blocked_);
    }
    if (state.losses == losses_) return;
    losses_ = state.losses;
    if (state.last.kind == ErrorKind::cancelled) return;  // closed by us
    refusal_ = state.last;
    log_.warn("rabbitmq", refusal_.message());
    // After one that worked the next send tries again at once.
    if (failures_++ == 0) return;
    const int doublings = std::min(failures_ - 2, 10);
    not_before_ = clock_.steady() + std::min(kBackoffMax, kBackoffMin * (int64_t{1} << doublings));
  }

  // At least one of its deadlines has passed.
  void time_out(Flight& flight) {
    const SteadyTime now = clock_.steady();
    for (const uint64_t id : flight.ids) {
      const auto at = slots_.find(id);
      if (at == slots_.end()) continue;
      const Slot slot = at->second;
      if (now < (slot.request ? flight.reply_due : flight.confirm_due)) continue;
      slot.exchange->fail(slot.request ? no_reply() : no_confirm());
      give_up(id);
      finish(slot);
    }
    // A broker that answers nobody is behind a dead connection.
    if (blocked_.empty() && unconfirmed_ > 0 && now - last_answer_ >= options_.confirm_timeout)
      link_.reset();
  }

  Error no_confirm() const {
    const std::string time = to_string(options_.confirm_timeout);
    if (!blocked_.empty())
      return Error(ErrorKind::timeout,
                   uri_ + ": the broker takes no messages (" + blocked_ + "), waited " + time,
                   "it has a memory or disk alarm: make room there");
    return Error(
        ErrorKind::timeout,
        uri_ + ": no confirm within " + time + "; whether the broker has the message is not known",
        "the broker is slow or away; confirmTimeout sets how long to wait");
  }
  Error no_reply() const {
    return Error(ErrorKind::timeout,
                 uri_ + ": no reply within " + to_string(options_.reply_timeout),
                 "set the pattern InOnly when none is wanted; replyTimeout sets how long to wait");
  }

  void give_up(uint64_t id) {
    if (slots_.erase(id) == 0) return;
    const size_t waiting = std::erase_if(queue_, [id](const Send& send) { return send.id == id; });
    if (waiting == 0) link_.forget(id);
  }

  ProducerOptions options_;
  std::string uri_;
  Clock& clock_;
  Log& log_;
  uint64_t last_id_ = 0;
  std::deque<Send> queue_;                    // waits for room in the window
  std::unordered_map<uint64_t, Slot> slots_;  // by id: who waits
  size_t unconfirmed_ = 0;                    // handed over
  SteadyTime last_answer_{};
  std::string blocked_;
  uint64_t losses_ = 0;
  int failures_ = 0;  // losses in a row
  SteadyTime not_before_{};
  Error refusal_;
  ProducerLink link_;
};

}  // namespace

std::unique_ptr<Producer> make_producer(EndpointOptions options, BuildContext& context) {
  return std::make_unique<RabbitProducer>(std::move(options), context);
}

}  // namespace drom::rabbitmq
