#include "eip/send_captured.hpp"

#include "eip/send.hpp"
#include "spi/send_targets.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

constexpr std::string_view kTargetHeader = "outbox.type";  // an engine header: no peer can set it
constexpr std::string_view kTypeHeader = "eventType";

class SendCaptured final : public AsyncProcessor {
 public:
  explicit SendCaptured(SendTargets& targets) : targets_(targets) {}

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) co_await send_one(exchange, scope);
  }

 private:
  async<> send_one(Exchange& exchange, Scope& scope) {
    const Value* const name = exchange.message.headers.find(kTargetHeader);
    const std::string target = name ? name->to_text() : std::string();
    Producer* const producer = targets_.find(target);
    if (!producer) {
      exchange.fail(
          Error(ErrorKind::rejected, "no route sends to '" + target + "' inside a transaction",
                "sendCaptured takes what a data source with the option outbox has stored; when the "
                "endpoint was renamed, put it back until its rows are sent, or discard them"));
      co_return;
    }
    exchange.message.headers.erase(kTypeHeader);  // ours, not the receiver's
    co_await run_one(*producer, exchange, scope);
  }

  SendTargets& targets_;
};

ConfigSpec send_captured_spec() {
  ConfigSpec spec;
  spec.name = "sendCaptured";
  spec.title = "Send captured";
  spec.doc =
      "Sends a message that a transaction has stored in the outbox of its data source (option "
      "outbox) to the endpoint that it was meant for. A data source brings such a route with it; "
      "write one from the same outbox only to choose its options.";
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: outbox:sends\n"
      "      parameters: {maximumAttempts: 0}\n"
      "      steps:\n"
      "        - sendCaptured: {}\n";
  return spec;
}

Step make_send_captured(const StepSpec&, const Config&, BuildContext& context) {
  return Step(std::make_unique<SendCaptured>(SendTargets::of(context)));
}

}  // namespace

void register_send_captured(Registry& registry) {
  registry.add(StepInfo{"sendCaptured", send_captured_spec, make_send_captured});
}

}  // namespace drom
