#include "eip/to.hpp"

#include "eip/send.hpp"
#include "spi/send_targets.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

class To final : public AsyncProcessor {
 public:
  // `waits`: in a transaction, so that a send that may wait for the commit does.
  To(Producer& producer, SendOptions options, bool waits)
      : producer_(producer), options_(std::move(options)), waits_(waits) {}

  // Outside of a transaction a send that waits for nothing has its effect at once: a later message
  // of a key must not be sent when an earlier one has failed.
  bool takes_batches() const override {
    return producer_.takes_batches() || (waits_ && may_wait(producer_, options_));
  }

  bool takes_streams() const override { return producer_.takes_streams() && options_.plain(); }

  bool pipelines() const override { return producer_.pipelines() && options_.plain(); }

  // Not a coroutine: the common case costs no frame of its own.
  async<> run(Batch& batch, Scope& scope) override {
    if (needs_nothing(batch, producer_, options_)) return producer_.run(batch, scope);
    return send_all(batch, scope);
  }

 private:
  async<> send_all(Batch& batch, Scope& scope) {
    for (Exchange& exchange : batch) co_await send(exchange, producer_, options_, scope);
  }

  Producer& producer_;
  SendOptions options_;
  bool waits_;
};

ConfigSpec to_spec() {
  ConfigSpec spec;
  spec.name = "to";
  spec.title = "To";
  spec.doc =
      "Sends the message to an endpoint; a reply becomes the message. The URI is fixed when the "
      "route "
      "is loaded: for a target that depends on the message use toD. Inside a transaction, sends "
      "with "
      "an effect outside of the database wait for the commit.";
  OptionSpec uri = required_option("uri", OptionType::text, "The endpoint.");
  uri.example = "direct:orders";
  spec.options.push_back(std::move(uri));
  add_send_options(spec);
  spec.scalar = "uri";
  spec.parameters = true;
  spec.example = "- to:\n    uri: direct:orders\n";
  return spec;
}

Step make_to(const StepSpec& spec, const Config& config, BuildContext& context) {
  const std::string& uri = config.text("uri");
  const Location where = config.where("uri");
  Producer* const producer = context.producer(uri, spec.parameters, where);
  if (!producer) return Step();
  SendOptions options = read_send_options(config);
  Endpoint* const endpoint = context.endpoint(uri, spec.parameters, where);
  if (endpoint && may_wait(*producer, options)) {
    options.target = endpoint->uri();
    SendTargets::of(context).add(options.target, *producer, where, context.diagnostics());
  }
  return Step(std::make_unique<To>(*producer, std::move(options), context.in_unit()));
}

}  // namespace

void register_to(Registry& registry) { registry.add(StepInfo{"to", to_spec, make_to}); }

}  // namespace drom
