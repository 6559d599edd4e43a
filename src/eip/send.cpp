#include "eip/send.hpp"

#include "drom/rt/body_stream.hpp"
#include "drom/rt/unit_of_work.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

// A send that waits for the commit. Owns its copy of the message; the producer and everything that
// the scope refers to live as long as the route runs.
class DeferredSend final : public DeferredAction {
 public:
  DeferredSend(Exchange exchange, Producer& producer, const Scope& scope, std::string target)
      : producer_(producer), scope_(scope), target_(std::move(target)) {
    exchange.unit = nullptr;
    scope_.errors = nullptr;
    batch_.push_back(std::move(exchange));
  }
  async<Result<void>> run() override {
    co_await producer_.run(batch_, scope_);
    Exchange& exchange = batch_.front();
    if (!exchange.failed()) co_return Result<void>();
    Error error = std::move(*exchange.error);
    error.what = "a send after the commit failed: " + error.what;
    if (error.hint.empty())
      error.hint = "the commit stands; to send at least once, write to an outbox instead";
    co_return error;
  }
  std::optional<KeptSend> take() override {
    if (target_.empty()) return std::nullopt;
    return KeptSend{std::move(target_), std::move(batch_.front())};
  }

 private:
  Batch batch_;
  Producer& producer_;
  Scope scope_;
  std::string target_;
};

bool deferred(const Exchange& exchange, const Producer& producer, const SendOptions& options) {
  return exchange.unit && may_wait(producer, options);
}

}  // namespace

bool may_wait(const Producer& producer, const SendOptions& options) {
  if (options.pattern == ExchangePattern::in_out) return false;
  return producer.defers_in_transaction() ||
         (options.pattern == ExchangePattern::in_only && producer.defers_when_in_only());
}

bool needs_nothing(const Batch& batch, const Producer& producer, const SendOptions& options) {
  if (!options.plain()) return false;
  for (const Exchange& exchange : batch)
    if (deferred(exchange, producer, options)) return false;
  return true;
}

async<> send(Exchange& exchange, Producer& producer, const SendOptions& options, Scope& scope) {
  const ExchangePattern pattern = exchange.pattern;
  std::optional<Message> kept;
  if (!options.variable_receive.empty() || !options.variable_send.empty()) kept = exchange.message;
  if (!options.variable_send.empty()) {
    const Value* const variable = exchange.variables.find(options.variable_send);
    exchange.message.body = variable ? *variable : Value();
  }
  if (options.pattern) exchange.pattern = *options.pattern;

  const bool later = deferred(exchange, producer, options);
  if (later) {
    exchange.unit->defer(
        std::make_unique<DeferredSend>(exchange.copy(), producer, scope, options.target));
  } else {
    co_await run_one(producer, exchange, scope);
  }

  exchange.pattern = pattern;
  if (!options.variable_receive.empty()) {
    if (!later && exchange.running() && exchange.message.stream) {
      Result<void> read = co_await read_in(exchange.message);
      if (!read) exchange.fail(std::move(read.error()));
    }
    if (!later && !exchange.failed())
      exchange.variables.set(options.variable_receive, std::move(exchange.message.body));
    exchange.message = std::move(*kept);
  } else if (kept && (later || exchange.failed())) {
    exchange.message = std::move(*kept);
  }
}

void add_send_options(ConfigSpec& spec) {
  spec.options.push_back(enum_option("pattern", {"InOnly", "InOut"},
                                     "Exchange pattern for this send only. Inside a transaction, "
                                     "InOut asks for a reply and is sent at once; InOnly wants "
                                     "none and waits for the commit, also for http."));
  spec.options.push_back(
      option("variableSend", OptionType::text, "Sends this variable instead of the body."));
  spec.options.push_back(
      option("variableReceive", OptionType::text,
             "Puts the body of the reply into this variable and keeps the message."));
}

SendOptions read_send_options(const Config& config) {
  SendOptions out;
  if (config.has("pattern"))
    out.pattern = iequals(config.text("pattern"), "InOut") ? ExchangePattern::in_out
                                                           : ExchangePattern::in_only;
  out.variable_send = config.text("variableSend");
  out.variable_receive = config.text("variableReceive");
  return out;
}

}  // namespace drom
