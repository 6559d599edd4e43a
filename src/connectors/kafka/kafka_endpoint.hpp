// The two ends of a kafka: endpoint; made in kafka.cpp.
#pragma once

#include <memory>

#include "connectors/kafka/kafka_client.hpp"
#include "connectors/kafka/kafka_options.hpp"
#include "connectors/kafka/kafka_sender.hpp"
#include "connectors/kafka/kafka_transactions.hpp"
#include "drom/spi/endpoint.hpp"
#include "observe/source_lag.hpp"

namespace drom::kafka {

std::unique_ptr<Consumer> make_consumer(const Services& services, const Options& options,
                                        ClientSettings settings,
                                        std::shared_ptr<Transactions> transactions,
                                        SourceLagBoard& board);
std::unique_ptr<Producer> make_producer(const Services& services, const Options& options,
                                        ClientSettings settings,
                                        std::shared_ptr<Transactions> transactions);

}  // namespace drom::kafka
