// The two ends of a file: endpoint; made in file.cpp.
#pragma once

#include <memory>

#include "connectors/file/file_options.hpp"
#include "drom/spi/endpoint.hpp"
#include "rt/lane.hpp"

namespace drom::file {

// What the consumer takes from the engine; all of it outlives the consumer.
struct Services {
  Lane& lane;
  Clock& clock;
  Log& log;
  const EvalEnv& env;
};

std::unique_ptr<Consumer> make_consumer(const ConsumerOptions& options, const Services& services);
std::unique_ptr<Producer> make_producer(const ProducerOptions& options, Lane& lane);

}  // namespace drom::file
