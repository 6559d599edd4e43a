#include "connectors/rabbitmq/rabbitmq.hpp"

#include "connectors/rabbitmq/ends.hpp"
#include "drom/spi/build_context.hpp"

namespace drom {
namespace {

class RabbitEndpoint final : public Endpoint {
 public:
  RabbitEndpoint(rabbitmq::EndpointOptions options, BuildContext& context)
      : options_(std::move(options)), context_(context) {}

  std::string uri() const override { return options_.uri; }
  std::string source() const override {
    std::string out = options_.uri;
    for (const std::string& queue : options_.topology.queues) out += ":" + queue;
    return out;
  }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    if (options_.topology.queues.empty())
      return Error(ErrorKind::config, "'" + uri() + "' as a source needs queues",
                   "write queues=NAME, several separated by commas");
    return rabbitmq::make_consumer(options_, context_);
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return rabbitmq::make_producer(options_, context_);
  }

 private:
  rabbitmq::EndpointOptions options_;
  BuildContext& context_;
};

Result<std::unique_ptr<Endpoint>> make_rabbitmq(const Config& config, BuildContext& context) {
  Result<rabbitmq::EndpointOptions> options = rabbitmq::read_endpoint(config, context.registry());
  if (!options) return options.error();
  return std::unique_ptr<Endpoint>(std::make_unique<RabbitEndpoint>(std::move(*options), context));
}

}  // namespace

void register_rabbitmq(Registry& registry) {
  registry.add(rabbitmq::broker_bean());
  ComponentInfo info;
  info.scheme = "rabbitmq";
  info.spec = rabbitmq::endpoint_spec;
  info.make = make_rabbitmq;
  info.aliases = {"spring-rabbitmq"};
  registry.add(std::move(info));
}

}  // namespace drom
