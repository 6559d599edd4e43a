#include "connectors/kafka/kafka.hpp"

#include "connectors/kafka/kafka_endpoint.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace kafka {
namespace {

class KafkaEndpoint final : public Endpoint {
 public:
  KafkaEndpoint(Options options, const Services& services,
                std::shared_ptr<Transactions> transactions, SourceLagBoard& board)
      : options_(std::move(options)),
        s_(services),
        transactions_(std::move(transactions)),
        board_(board) {}

  std::string uri() const override { return options_.uri; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    Result<void> fit = check_consumer(options_);
    if (!fit) return fit.error();
    Result<ClientSettings> settings =
        ClientSettings::make(options_.uri, options_.consumer_settings);
    if (!settings) return settings.error();
    return kafka::make_consumer(s_, options_, std::move(*settings), transactions_, board_);
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    if (options_.pattern || options_.topics.size() != 1)
      return Error(ErrorKind::config, options_.uri + " is no target",
                   "a target has one topic; use a multicast for several");
    Result<ClientSettings> settings =
        ClientSettings::make(options_.uri, options_.producer_settings);
    if (!settings) return settings.error();
    return kafka::make_producer(s_, options_, std::move(*settings), transactions_);
  }

 private:
  Options options_;
  Services s_;
  std::shared_ptr<Transactions> transactions_;
  SourceLagBoard& board_;
};

// The table of a context holds the object itself; endpoints share its ownership.
struct SharedTransactions {
  std::shared_ptr<Transactions> value;
};

Result<std::unique_ptr<Endpoint>> make_kafka(const Config& config, BuildContext& context) {
  // The only bean is meant where none is named, but not for brokers that the endpoint names itself:
  // they shall not be sent its password.
  const ConnectionFactory* factory = nullptr;
  if (config.has("connectionFactory") || !config.given("brokers")) {
    Result<ConnectionFactory*> found =
        named_or_only<ConnectionFactory>(context.registry(), config.text("connectionFactory"),
                                         "drom.kafka bean", "connectionFactory");
    if (!found) return found.error();
    factory = *found;
  }
  Result<Options> options = read_options(config, factory);
  if (!options) return options.error();
  const Services services{context.io(), context.clock(), context.log(), context.rng()};
  const auto make = [&] {
    auto out = std::make_shared<SharedTransactions>();
    out->value = std::make_shared<Transactions>(services);
    return out;
  };
  SharedTransactions& transactions = context.shared<SharedTransactions>(make);
  SourceLagBoard& board =
      context.shared<SourceLagBoard>([] { return std::make_shared<SourceLagBoard>(); });
  return std::unique_ptr<Endpoint>(
      std::make_unique<KafkaEndpoint>(std::move(*options), services, transactions.value, board));
}

Result<void> make_bean(const std::string& name, const Config& config, BuildContext& context) {
  context.registry().bind<ConnectionFactory>(
      name, std::make_shared<ConnectionFactory>(ConnectionFactory{config}));
  return {};
}

}  // namespace
}  // namespace kafka

void register_kafka(Registry& registry) {
  registry.add(ComponentInfo{"kafka", kafka::endpoint_spec, kafka::make_kafka, {}});
  registry.add(BeanInfo{"drom.kafka", kafka::bean_spec, kafka::make_bean, {}});
}

}  // namespace drom
