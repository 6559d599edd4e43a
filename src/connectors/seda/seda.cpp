#include "connectors/seda/seda.hpp"

#include "connectors/seda/seda_endpoint.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"

namespace drom {
namespace {

using seda::Options;
using seda::WaitForReply;

class SedaEndpoint final : public Endpoint {
 public:
  SedaEndpoint(seda::Queue& queue, Options options, Clock& clock)
      : queue_(queue), options_(std::move(options)), clock_(clock) {}

  std::string uri() const override { return "seda:" + options_.name; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    consumes_ = true;
    return seda::make_consumer(queue_, options_, clock_);
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    produces_ = true;
    return seda::make_producer(queue_, options_);
  }
  Result<void> verify() const override {
    if (consumes_ && !options_.multiple_consumers && queue_.declared() > 1)
      return Error(ErrorKind::config, "several routes start with '" + uri() + "'",
                   "set multipleConsumers=true on each of them to give every route a copy");
    if (produces_ && options_.fail_if_no_consumers && queue_.declared() == 0)
      return Error(ErrorKind::config, "no route starts with '" + uri() + "'",
                   "add a route with `from: " + uri() + "`");
    return {};
  }

 private:
  seda::Queue& queue_;
  Options options_;
  Clock& clock_;
  bool consumes_ = false;
  bool produces_ = false;
};

OptionSpec flag(std::string name, std::string doc, std::string fallback) {
  return {.name = std::move(name),
          .type = OptionType::boolean,
          .doc = std::move(doc),
          .fallback = std::move(fallback)};
}

ConfigSpec seda_spec() {
  ConfigSpec spec;
  spec.name = "seda";
  spec.title = "SEDA";
  spec.doc =
      "A bounded in-memory queue between routes of one engine. The sender goes on at once, or "
      "waits "
      "for the reply of a request; the receiving route works at its own pace, on a copy of the "
      "message and outside the sender's unit of work. Inside a transacted block the message is "
      "sent "
      "after the commit. The queue is drained when the engine stops and lost when the process is "
      "killed: use outbox: where a message must survive. A message whose route fails is not queued "
      "again: give that route a dead letter channel.";
  spec.syntax = "seda:name";
  spec.consumes = spec.produces = true;
  spec.options = {
      {.name = "name",
       .doc = "Name of the queue.",
       .example = "shipping",
       .required = true,
       .path = true},
      {.name = "size",
       .type = OptionType::integer,
       .doc = "How many messages the queue holds; give it on one endpoint of the queue only.",
       .fallback = "1000",
       .example = "10000",
       .minimum = 1},
      {.name = "concurrentConsumers",
       .type = OptionType::integer,
       .doc =
           "How many messages the receiving route works on at once; more than one gives up their "
           "order.",
       .fallback = "1",
       .example = "4",
       .minimum = 1},
      flag("limitConcurrentConsumers", "Whether more than 500 concurrentConsumers are a mistake.",
           "true"),
      flag(
          "multipleConsumers",
          "Whether several routes may start with this queue, each getting a copy of every message.",
          "false"),
      flag("purgeWhenStopping",
           "Whether messages that are still queued at the stop are dropped instead of worked off.",
           "false"),
      {.name = "waitForTaskToComplete",
       .type = OptionType::enumeration,
       .doc =
           "Whether the sender waits until the receiving route has ended: when it expects a reply, "
           "always, or never.",
       .fallback = "IfReplyExpected",
       .values = {"IfReplyExpected", "Always", "Never"}},
      {.name = "timeout",
       .type = OptionType::duration,
       .doc = "How long a sender waits for the reply; 0 waits without limit.",
       .fallback = "30000",
       .example = "5s",
       .minimum = 0},
      flag("blockWhenFull", "Whether the sender waits for room in a full queue instead of failing.",
           "false"),
      {.name = "offerTimeout",
       .type = OptionType::duration,
       .doc = "How long blockWhenFull waits before it fails; 0 waits without limit.",
       .fallback = "0",
       .example = "2s",
       .minimum = 0},
      flag("discardWhenFull", "Whether a message for a full queue is silently dropped.", "false"),
      flag("failIfNoConsumers", "Whether sending to a queue that no route consumes is an error.",
           "false"),
      flag("discardIfNoConsumers",
           "Whether a message for a queue that no route consumes is silently dropped.", "false"),
      flag("transacted",
           "Whether a send inside a transacted block waits for the commit; false sends at once.",
           "true"),
  };
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: timer:tick\n"
      "      steps:\n"
      "        - to:\n"
      "            uri: seda:work\n"
      "            parameters: {size: 100, blockWhenFull: true}\n"
      "- route:\n"
      "    from:\n"
      "      uri: seda:work\n"
      "      parameters: {concurrentConsumers: 4}\n"
      "      steps:\n"
      "        - log: \"working\"\n";
  return spec;
}

WaitForReply wait_rule(const std::string& text) {
  if (text == "Always") return WaitForReply::always;
  return text == "Never" ? WaitForReply::never : WaitForReply::if_expected;
}

Result<std::unique_ptr<Endpoint>> make_seda(const Config& config, BuildContext& context) {
  Options options;
  options.name = config.text("name");
  options.concurrent_consumers = static_cast<size_t>(config.integer("concurrentConsumers"));
  options.multiple_consumers = config.flag("multipleConsumers");
  options.purge_when_stopping = config.flag("purgeWhenStopping");
  options.wait = wait_rule(config.text("waitForTaskToComplete"));
  options.timeout = config.duration("timeout");
  options.offer_timeout = config.duration("offerTimeout");
  options.block_when_full = config.flag("blockWhenFull");
  options.discard_when_full = config.flag("discardWhenFull");
  options.fail_if_no_consumers = config.flag("failIfNoConsumers");
  options.discard_if_no_consumers = config.flag("discardIfNoConsumers");
  options.transacted = config.flag("transacted");
  if (config.flag("limitConcurrentConsumers") && options.concurrent_consumers > 500)
    return Error(ErrorKind::config,
                 "concurrentConsumers is " + std::to_string(options.concurrent_consumers) +
                     ", more than 500",
                 "set limitConcurrentConsumers=false if you mean it");
  if (options.block_when_full && options.discard_when_full)
    return Error(ErrorKind::config, "blockWhenFull and discardWhenFull exclude each other");
  if (options.fail_if_no_consumers && options.discard_if_no_consumers)
    return Error(ErrorKind::config,
                 "failIfNoConsumers and discardIfNoConsumers exclude each other");

  seda::Queues& queues = context.shared<seda::Queues>(std::make_shared<seda::Queues>);
  seda::Queue& queue = queues.queue(options.name);
  const Result<void> sized =
      queue.fix_size(static_cast<size_t>(config.integer("size")), config.given("size"));
  if (!sized) return sized.error();
  return std::unique_ptr<Endpoint>(
      std::make_unique<SedaEndpoint>(queue, std::move(options), context.clock()));
}

}  // namespace

void register_seda(Registry& registry) {
  ComponentInfo info;
  info.scheme = "seda";
  info.spec = seda_spec;
  info.make = make_seda;
  registry.add(std::move(info));
}

}  // namespace drom
