// The two ends of sql:; made by the endpoint in sql.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connectors/sql/sql_text.hpp"
#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/spi/endpoint.hpp"

namespace drom::sqlc {

enum class OutputType : uint8_t { select_list, select_one };

struct SqlOptions {
  std::string uri;
  SqlText query;
  char separator = ',';
  // Producer.
  bool batch = false;
  bool noop = false;
  OutputType output = OutputType::select_list;
  std::string output_header;
  // Consumer.
  milliseconds initial_delay{1000};
  milliseconds delay{500};
  bool greedy = false;
  int64_t repeat_count = 0;
  size_t messages_per_poll_max = 0;
  bool use_iterator = true;
  bool route_empty = false;
  std::optional<SqlText> on_consume;
  std::optional<SqlText> on_consume_failed;
  std::optional<SqlText> on_batch_complete;
  int64_t expected_update_count = -1;
  bool break_batch = false;
};

struct SqlServices {
  sql::Database& database;
  Clock& clock;
  Log& log;
  const EvalEnv& env;
};

std::unique_ptr<Producer> make_producer(const SqlServices& services, const SqlOptions& options);
std::unique_ptr<Consumer> make_consumer(const SqlServices& services, const SqlOptions& options);

}  // namespace drom::sqlc
