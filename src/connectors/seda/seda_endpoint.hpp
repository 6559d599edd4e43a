// The two ends of a seda queue; made by the endpoint in seda.cpp.
#pragma once

#include <memory>
#include <string>

#include "connectors/seda/seda_queue.hpp"
#include "drom/spi/endpoint.hpp"

namespace drom::seda {

enum class WaitForReply : uint8_t { if_expected, always, never };

struct Options {
  std::string name;
  // Consumer.
  size_t concurrent_consumers = 1;
  bool multiple_consumers = false;
  bool purge_when_stopping = false;
  // Producer.
  WaitForReply wait = WaitForReply::if_expected;
  milliseconds timeout{30000};
  milliseconds offer_timeout{0};
  bool block_when_full = false;
  bool discard_when_full = false;
  bool fail_if_no_consumers = false;
  bool discard_if_no_consumers = false;
  bool transacted = true;
};

std::unique_ptr<Consumer> make_consumer(Queue& queue, const Options& options, Clock& clock);
std::unique_ptr<Producer> make_producer(Queue& queue, const Options& options);

}  // namespace drom::seda
