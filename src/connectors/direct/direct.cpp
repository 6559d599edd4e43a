#include "connectors/direct/direct.hpp"

#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"

namespace drom {

bool DirectChannels::has_consumer(std::string_view name) const {
  const auto it = channels_.find(name);
  return it != channels_.end() && it->second.declared > 0;
}

std::vector<std::string> DirectChannels::consumers() const {
  std::vector<std::string> out;
  for (const auto& [name, channel] : channels_)
    if (channel.declared > 0) out.push_back("direct:" + name);
  return out;
}

namespace {

using Channel = DirectChannels::Channel;

// Deeper than any sane chain of routes; a route that calls itself ends here instead of eating
// memory.
constexpr uint16_t kDepthMax = 100;

struct DirectOptions {
  std::string name;
  bool block = true;
  bool fail_if_no_consumers = true;
  milliseconds timeout{30000};
};

Error no_consumer(const DirectChannels& channels, const std::string& uri) {
  std::string hint = did_you_mean(uri, channels.consumers());
  if (hint.empty()) hint = "add a route with `from: " + uri + "`";
  return Error(ErrorKind::config, "no route starts with '" + uri + "'", std::move(hint));
}

class DirectConsumer final : public InlineConsumer {
 public:
  DirectConsumer(Channel& channel, std::string uri) : channel_(channel), uri_(std::move(uri)) {
    ++channel_.declared;
  }
  DirectConsumer(const DirectConsumer&) = delete;
  DirectConsumer& operator=(const DirectConsumer&) = delete;
  ~DirectConsumer() override {
    detach();
    --channel_.declared;
  }

  Result<void> attach(RouteEntry& entry) override {
    if (channel_.entry && channel_.entry != &entry)
      return Error(ErrorKind::config,
                   "the routes '" + std::string(channel_.entry->route_id()) + "' and '" +
                       std::string(entry.route_id()) + "' both start with '" + uri_ + "'",
                   "give each direct route its own name");
    channel_.entry = entry_ = &entry;
    channel_.attached.ring_all();
    return {};
  }
  void detach() override {
    if (entry_ && channel_.entry == entry_) channel_.entry = nullptr;
    entry_ = nullptr;
  }

 private:
  Channel& channel_;
  std::string uri_;
  RouteEntry* entry_ = nullptr;
};

class DirectProducer final : public Producer {
 public:
  DirectProducer(DirectChannels& channels, DirectOptions options)
      : channels_(channels),
        channel_(channels.channel(options.name)),
        options_(std::move(options)),
        uri_("direct:" + options_.name) {}

  bool takes_streams() const override { return true; }  // as the steps of the route want
  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) co_await call(exchange, scope);
  }

 private:
  async<> call(Exchange& exchange, Scope& scope) {
    if (exchange.depth >= kDepthMax) {
      exchange.fail(
          Error(ErrorKind::config,
                "'" + uri_ + "' is called " + std::to_string(kDepthMax) + " levels deep",
                "a route that reaches itself through direct: never ends; use seda: or loop"));
      co_return;
    }
    if (!channel_.entry) co_await wait_for_route(scope.clock);
    if (!channel_.entry) {
      if (options_.fail_if_no_consumers) exchange.fail(missing());
      co_return;
    }
    const uint16_t depth = exchange.depth;
    exchange.depth = static_cast<uint16_t>(depth + 1);
    co_await channel_.entry->run(exchange);
    exchange.depth = depth;
    if (exchange.flow == Flow::stopped) exchange.flow = Flow::running;
  }

  // A route that exists may be starting or suspended; one that does not exist is not worth a wait.
  async<> wait_for_route(Clock& clock) {
    if (!options_.block) co_return;
    const SteadyTime deadline = clock.steady() + options_.timeout;
    while (!channel_.entry && channel_.declared > 0 && !closed_) {
      const auto left = std::chrono::ceil<milliseconds>(deadline - clock.steady());
      if (left <= milliseconds(0)) co_return;
      co_await channel_.attached.wait(clock, left);
    }
  }

  Error missing() const {
    if (channel_.declared == 0) return no_consumer(channels_, uri_);
    if (closed_) return Error(ErrorKind::cancelled, "stopped while '" + uri_ + "' was not running");
    return Error(ErrorKind::not_connected, "the route of '" + uri_ + "' is not running",
                 "start that route, or wait longer with timeout");
  }

  async<Result<void>> open() override {
    closed_ = false;
    co_return Result<void>();
  }
  async<> close() override {
    closed_ = true;
    channel_.attached.ring_all();
    co_return;
  }

  DirectChannels& channels_;
  Channel& channel_;
  DirectOptions options_;
  std::string uri_;
  bool closed_ = false;
};

class DirectEndpoint final : public Endpoint {
 public:
  DirectEndpoint(DirectChannels& channels, DirectOptions options)
      : channels_(channels),
        channel_(channels.channel(options.name)),
        options_(std::move(options)) {}

  std::string uri() const override { return "direct:" + options_.name; }
  std::unique_ptr<InlineConsumer> make_inline_consumer() override {
    consumes_ = true;
    return std::make_unique<DirectConsumer>(channel_, uri());
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    produces_ = true;
    return std::unique_ptr<Producer>(std::make_unique<DirectProducer>(channels_, options_));
  }
  Result<void> verify() const override {
    if (consumes_ && channel_.declared > 1)
      return Error(ErrorKind::config, "several routes start with '" + uri() + "'",
                   "give each direct route its own name");
    if (produces_ && options_.fail_if_no_consumers && channel_.declared == 0)
      return no_consumer(channels_, uri());
    return {};
  }

 private:
  DirectChannels& channels_;
  Channel& channel_;
  DirectOptions options_;
  bool consumes_ = false;
  bool produces_ = false;
};

ConfigSpec direct_spec() {
  ConfigSpec spec;
  spec.name = "direct";
  spec.title = "Direct";
  spec.doc =
      "Calls another route of the same engine, at once and on the same message: a function call "
      "between routes. The called route runs in the caller's unit of work, with its own error "
      "handler, and the message it leaves behind is the reply. Its end, a stop inside it and an "
      "error it has handled return to the caller, which goes on.";
  spec.syntax = "direct:name";
  spec.consumes = spec.produces = true;
  spec.options = {
      {.name = "name",
       .doc = "Name of the channel; exactly one route starts with it.",
       .example = "validate-order",
       .required = true,
       .path = true},
      {.name = "block",
       .type = OptionType::boolean,
       .doc = "Whether a sender waits, up to timeout, while the called route is not running yet.",
       .fallback = "true"},
      {.name = "timeout",
       .type = OptionType::duration,
       .doc = "How long a sender waits for the called route to be running.",
       .fallback = "30000",
       .example = "5s",
       .minimum = 0},
      {.name = "failIfNoConsumers",
       .type = OptionType::boolean,
       .doc = "Whether a name that no route starts with is an error; else such messages pass by "
              "unchanged.",
       .fallback = "true"},
  };
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: timer:tick\n"
      "      steps:\n"
      "        - to: direct:work\n"
      "- route:\n"
      "    from:\n"
      "      uri: direct:work\n"
      "      steps:\n"
      "        - log: \"called by ${routeId}\"\n";
  return spec;
}

Result<std::unique_ptr<Endpoint>> make_direct(const Config& config, BuildContext& context) {
  DirectChannels& channels = context.shared<DirectChannels>(std::make_shared<DirectChannels>);
  DirectOptions options;
  options.name = config.text("name");
  options.block = config.flag("block");
  options.timeout = config.duration("timeout");
  options.fail_if_no_consumers = config.flag("failIfNoConsumers");
  return std::unique_ptr<Endpoint>(std::make_unique<DirectEndpoint>(channels, std::move(options)));
}

}  // namespace

void register_direct(Registry& registry) {
  ComponentInfo info;
  info.scheme = "direct";
  info.spec = direct_spec;
  info.make = make_direct;
  registry.add(std::move(info));
}

}  // namespace drom
