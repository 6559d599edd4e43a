// Tables that are not ours: the options that describe them, and how one of their rows becomes an
// exchange. Debezium's options and event shape are those of its outbox event router, so that a
// consumer cannot tell which of the two has sent an event. Pure; load time and shard thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/outbox/table_shape.hpp"
#include "drom/config/config.hpp"
#include "drom/model/exchange.hpp"
#include "expr/regex.hpp"
#include "machines/outbox_relay.hpp"

namespace drom::outbox {

// Where the value of an additional column goes.
struct PlacedField {
  enum class Placement : uint8_t { header, envelope, partition } placement = Placement::header;
  std::string alias;
  size_t extra = 0;  // index in TableShape::extras
};

struct EventShape {
  std::vector<PlacedField> placed;
  std::optional<size_t> topic;  // index in TableShape::extras
  std::optional<size_t> schema_version;
  // Debezium only.
  std::optional<expr::Regex> topic_regex;
  std::string topic_replacement;
  bool tombstone_on_empty = false;
  bool expand_json = false;
  bool keep_nulls = false;
};

struct ForeignTable {
  TableShape shape;
  EventShape event;
};

// The options, in the order in which they are documented.
std::vector<OptionSpec> format_options();
std::vector<OptionSpec> mapping_options();
std::vector<OptionSpec> debezium_options();

// nullopt: format=drom. `table` is checked already. Errors of kind config.
Result<std::optional<ForeignTable>> foreign_table(const Config& config, std::string table);

// Debezium's replacement text (Java: $1, ${name}) as our regular expressions take it.
Result<std::string> java_replacement(std::string_view text);

// The exchange of a row that was read with this (resolved) shape. Metadata besides that of our own
// table: outbox.topic, outbox.partition, outbox.schemaVersion.
Result<Exchange> restore_foreign(const TableShape& shape, const EventShape& event, RelayRow row);

}  // namespace drom::outbox
