// What the endpoint kafka: and the bean drom.kafka may be given: one declaration for both, read
// into librdkafka's settings and into what we decide ourselves. Load time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drom/config/config.hpp"
#include "machines/partition_window.hpp"

namespace drom::kafka {

// The librdkafka that can be told how soon to look again at a full queue (2.2).
inline constexpr int kQueueBackoffSince = 0x02020000;

// librdkafka's names and values, in the order in which they are set.
using Settings = std::vector<std::pair<std::string, std::string>>;

struct SeekTo {
  enum class Kind : uint8_t { committed, beginning, end, offset, timestamp };
  Kind kind = Kind::committed;
  int64_t value = 0;  // an offset, or milliseconds since 1970
};

struct Options {
  std::string uri;  // for texts and metrics
  std::vector<std::string> topics;
  bool pattern = false;
  Settings consumer_settings;
  Settings producer_settings;
  std::string ca_hint;  // where certificates to trust come from, for the hint of a TLS error

  // Consumer.
  std::string group;
  bool commits = true;
  milliseconds commit_interval{100};
  size_t batch_max = 0;  // 0: every record is an exchange
  milliseconds batch_wait{0};
  milliseconds poll_timeout{1000};
  WindowPolicy policy;
  SeekTo seek;
  std::vector<int32_t> assigned;  // empty: the group decides
  size_t consumers = 1;
  size_t window = 1000;
  milliseconds max_poll_interval{300'000};

  // Producer.
  ExpressionPtr key;
  ExpressionPtr partition;
  std::optional<int32_t> fixed_partition;
  bool record_metadata = false;
  bool empty_for_null = false;
  bool transacted = true;
  std::string transaction_prefix;
  milliseconds message_timeout{120'000};
  milliseconds request_timeout{30'000};
};

// A bean: its options, for endpoints to override one by one.
struct ConnectionFactory {
  Config config;
};

ConfigSpec endpoint_spec();
ConfigSpec bean_spec();
// `factory` may be null.
Result<Options> read_options(const Config& config, const ConnectionFactory* factory);
// What is wrong with using the endpoint as a source.
Result<void> check_consumer(const Options& options);

}  // namespace drom::kafka
