#include <algorithm>
#include <array>

#include "connectors/outbox/foreign_table.hpp"

namespace drom::outbox {
namespace {

OptionSpec column(std::string name, std::string doc, std::string fallback = {},
                  std::string example = {}) {
  OptionSpec out;
  out.name = std::move(name);
  out.doc = std::move(doc);
  out.fallback = std::move(fallback);
  out.example = std::move(example);
  return out;
}

OptionSpec flag(std::string name, std::string doc, std::string fallback) {
  OptionSpec out = column(std::move(name), std::move(doc), std::move(fallback));
  out.type = OptionType::boolean;
  return out;
}

bool is_value(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ' ';
  });
}

Error bad_value(std::string_view option, const std::string& value) {
  return Error(ErrorKind::config,
               std::string(option) + ": '" + value + "' cannot be a value of a status column",
               "letters, digits, spaces and _ - . are possible, at most 64");
}

// Reads the names of columns and keeps the first error.
class Reader {
 public:
  explicit Reader(const Config& config) : config_(config) {}

  Column column(std::string_view option, bool optional = false) {
    const std::string& name = config_.text(option);
    if (name.empty()) return {};
    return named(option, name, optional && !config_.given(option));
  }
  Column named(std::string_view option, const std::string& name, bool optional) {
    Result<std::string> checked = checked_column(option, name);
    if (!checked) {
      fail(std::move(checked.error()));
      return {};
    }
    return Column{std::move(*checked), ColumnKind::unknown, optional};
  }
  std::string value(std::string_view option) {
    const std::string& text = config_.text(option);
    if (!text.empty() && !is_value(text)) fail(bad_value(option, text));
    return text;
  }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  std::optional<Error>& error() { return error_; }

 private:
  const Config& config_;
  std::optional<Error> error_;
};

// What both kinds of foreign tables may map.
void read_common(const Config& config, Reader& reader, TableShape& shape) {
  shape.sequence = reader.column("sequenceColumn");
  shape.available = reader.column("availableColumn");
  shape.sent = reader.column("sentColumn");
  shape.status = reader.column("statusColumn");
  shape.due_values = config.list("dueValues");
  for (const std::string& value : shape.due_values)
    if (!is_value(value)) reader.fail(bad_value("dueValues", value));
  shape.sent_value = reader.value("sentValue");
  if (shape.status && shape.sent_value.empty())
    reader.fail(Error(ErrorKind::config, "statusColumn needs sentValue",
                      "sentValue is what the column holds when the row has been sent"));
  if (!shape.status && (!shape.sent_value.empty() || !shape.due_values.empty()))
    reader.fail(Error(ErrorKind::config, "dueValues and sentValue need statusColumn",
                      "name the column that holds them"));
}

ForeignTable mapped_table(const Config& config, Reader& reader) {
  ForeignTable out;
  TableShape& shape = out.shape;
  shape.format = TableFormat::mapped;
  shape.event_id = reader.column("idColumn");
  shape.key = reader.column("keyColumn");
  shape.type = reader.column("typeColumn");
  shape.payload = reader.column("payloadColumn");
  shape.headers = reader.column("headersColumn");
  shape.created = reader.column("createdColumn");
  read_common(config, reader, shape);
  if (Column topic = reader.column("topicColumn")) {
    out.event.topic = shape.extras.size();
    shape.extras.push_back(std::move(topic));
  }
  for (const std::string& name : config.list("headerColumns")) {
    out.event.placed.push_back({PlacedField::Placement::header, name, shape.extras.size()});
    shape.extras.push_back(reader.named("headerColumns", name, false));
  }
  return out;
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ':')
      out.emplace_back();
    else if (c != ' ')
      out.back() += c;
  }
  return out;
}

// column:placement[:alias]
void place(const std::string& text, bool optional, Reader& reader, ForeignTable& out) {
  constexpr std::string_view kOption = "table.fields.additional.placement";
  const std::vector<std::string> parts = parts_of(text);
  PlacedField field;
  const std::string placement = parts.size() > 1 ? parts[1] : "";
  if (placement == "envelope") field.placement = PlacedField::Placement::envelope;
  if (placement == "partition") field.placement = PlacedField::Placement::partition;
  const bool known = placement == "header" || placement == "envelope" || placement == "partition";
  if (!known || parts.size() > 3) {
    reader.fail(Error(ErrorKind::config,
                      std::string(kOption) + ": '" + text + "' is no placement of a column",
                      "write column:header, column:envelope or column:partition, and "
                      "optionally :alias"));
    return;
  }
  field.alias = parts.size() == 3 ? parts[2] : parts[0];
  field.extra = out.shape.extras.size();
  out.shape.extras.push_back(reader.named(kOption, parts[0], optional));
  out.event.placed.push_back(std::move(field));
}

ForeignTable debezium_table(const Config& config, Reader& reader) {
  ForeignTable out;
  TableShape& shape = out.shape;
  EventShape& event = out.event;
  shape.format = TableFormat::debezium;
  shape.event_id = reader.column("table.field.event.id");
  shape.key = reader.column("table.field.event.key");
  shape.type = reader.column("table.field.event.type", true);
  shape.payload = reader.column("table.field.event.payload");
  shape.created = reader.column("table.field.event.timestamp");
  read_common(config, reader, shape);
  event.topic = shape.extras.size();
  shape.extras.push_back(reader.column("route.by.field"));
  if (Column version = reader.column("table.field.event.schema.version")) {
    event.schema_version = shape.extras.size();
    shape.extras.push_back(std::move(version));
  }
  const bool optional = !config.flag("table.fields.additional.error.on.missing");
  for (const std::string& field : config.list("table.fields.additional.placement"))
    place(field, optional, reader, out);
  event.tombstone_on_empty = config.flag("route.tombstone.on.empty.payload");
  event.expand_json = config.flag("table.expand.json.payload");
  event.keep_nulls = config.text("table.json.payload.null.behavior") == "optional_bytes";
  Result<expr::Regex> regex = expr::Regex::compile(config.text("route.topic.regex"));
  if (regex) {
    event.topic_regex = std::move(*regex);
  } else {
    reader.fail(
        Error(ErrorKind::config, "route.topic.regex: " + regex.error().what, regex.error().hint));
  }
  Result<std::string> replacement = java_replacement(config.text("route.topic.replacement"));
  if (replacement)
    event.topic_replacement = std::move(*replacement);
  else
    reader.fail(std::move(replacement.error()));
  if (config.text("table.op.invalid.behavior") == "fatal")
    reader.fail(Error(ErrorKind::config,
                      "table.op.invalid.behavior=fatal cannot be kept: a relay that reads the "
                      "table sees rows, not the UPDATEs that changed them",
                      "leave the option out, or refuse UPDATEs by a trigger in the database"));
  return out;
}

// An option of another format is a mistake that must not pass in silence.
std::optional<Error> stray_option(const Config& config, const std::string& format) {
  const auto stray = [&](const std::vector<OptionSpec>& options,
                         std::string_view suits) -> std::optional<Error> {
    for (const OptionSpec& option : options)
      if (config.given(option.name))
        return Error(ErrorKind::config, "option " + option.name + " needs format=" +
                                            std::string(suits) + ", and the format is " + format);
    return std::nullopt;
  };
  constexpr std::array<std::string_view, 6> kBoth = {
      "sequenceColumn", "availableColumn", "sentColumn", "statusColumn", "dueValues", "sentValue"};
  std::vector<OptionSpec> mapping = mapping_options();
  if (format == "debezium")
    std::erase_if(mapping, [&](const OptionSpec& option) {
      return std::ranges::find(kBoth, option.name) != kBoth.end();
    });
  if (format != "mapped")
    if (std::optional<Error> error = stray(mapping, "mapped")) return error;
  if (format != "debezium") return stray(debezium_options(), "debezium");
  return std::nullopt;
}

}  // namespace

std::vector<OptionSpec> format_options() {
  OptionSpec format;
  format.name = "format";
  format.type = OptionType::enumeration;
  format.doc =
      "Whose table it is: drom is our own; debezium has the columns and options of Debezium's "
      "outbox event router; mapped is any other table, its columns named by the options ...Column. "
      "Tables that are not ours can only be read (from).";
  format.fallback = "drom";
  format.values = {"drom", "debezium", "mapped"};
  return {format};
}

std::vector<OptionSpec> mapping_options() {
  OptionSpec due = column("dueValues",
                          "With statusColumn: its values in rows that have not been sent; without "
                          "it every value but sentValue is one.",
                          "", "NEW,RETRY");
  due.type = OptionType::list;
  OptionSpec headers = column("headerColumns",
                              "With format=mapped: columns that travel as headers of their own "
                              "name.",
                              "", "tenant,traceparent");
  headers.type = OptionType::list;
  return {
      column("sequenceColumn",
             "With another format than drom: the integer column, counted up by the database, that "
             "orders the rows; by default the id where it is an integer, else seq.",
             "", "seq"),
      column("idColumn", "With format=mapped: the identity of the event.", "id", "Id"),
      column("keyColumn", "With format=mapped: the key; events of one key are delivered in order.",
             "", "AggregateId"),
      column("typeColumn", "With format=mapped: the type of the event.", "", "EventType"),
      column("payloadColumn", "With format=mapped: the event itself, text, JSON or bytes.",
             "payload", "Payload"),
      column("headersColumn", "With format=mapped: a JSON object of headers.", "", "Headers"),
      headers,
      column("topicColumn",
             "With format=mapped: where the event goes, readable as ${header.outbox.topic}.", "",
             "Topic"),
      column("createdColumn", "With format=mapped: when the row was written; for display only.", "",
             "CreatedAt"),
      column("availableColumn",
             "With another format than drom: the row waits until this time, a time or "
             "milliseconds since 1970.",
             "", "VisibleAt"),
      column("sentColumn",
             "With another format than drom: null (or false) while the row is due, the time (or "
             "true) when it has been sent.",
             "", "ProcessedAt"),
      column("statusColumn",
             "With another format than drom: a column whose value says whether the row is due.", "",
             "Status"),
      due,
      column("sentValue", "With statusColumn: its value when the row has been sent.", "", "SENT"),
  };
}

std::vector<OptionSpec> debezium_options() {
  OptionSpec placement =
      column("table.fields.additional.placement",
             "Debezium: columns that travel as well, as column:header, column:envelope or "
             "column:partition, each with an optional :alias.",
             "", "type:header:eventType");
  placement.type = OptionType::list;
  OptionSpec invalid = column("table.op.invalid.behavior",
                              "Debezium: what an UPDATE of a row does. A relay that polls sees "
                              "rows, not UPDATEs, so fatal is refused.",
                              "warn");
  invalid.type = OptionType::enumeration;
  invalid.values = {"warn", "error", "fatal"};
  OptionSpec nulls = column("table.json.payload.null.behavior",
                            "Debezium: whether an expanded payload loses its null fields (ignore) "
                            "or keeps them (optional_bytes).",
                            "ignore");
  nulls.type = OptionType::enumeration;
  nulls.values = {"ignore", "optional_bytes"};
  return {
      column("table.field.event.id", "Debezium: the id of the event, sent as the header id.", "id"),
      column("table.field.event.key", "Debezium: the key of the event.", "aggregateid"),
      column("table.field.event.type", "Debezium: the type of the event.", "type"),
      column("table.field.event.timestamp",
             "Debezium: the time of the event, readable as ${header.outbox.createdAt}.", "",
             "created_at"),
      column("table.field.event.payload", "Debezium: the event itself.", "payload"),
      column("table.field.event.schema.version",
             "Debezium: the version of the schema, readable as ${header.outbox.schemaVersion}.", "",
             "schema_version"),
      placement,
      flag("table.fields.additional.error.on.missing",
           "Debezium: whether a placed column that the table lacks is an error.", "true"),
      flag("table.expand.json.payload",
           "Debezium: whether a JSON text becomes a JSON document; other texts stay as they are.",
           "false"),
      nulls,
      invalid,
      column("route.by.field", "Debezium: the column that names the topic.", "aggregatetype"),
      column("route.topic.regex",
             "Debezium: what the value of route.by.field must match to be replaced.",
             "(?<routedByValue>.*)"),
      column("route.topic.replacement",
             "Debezium: the topic, readable as ${header.outbox.topic}; groups of the expression as "
             "$1 or ${name}.",
             "outbox.event.${routedByValue}", "events.${routedByValue}"),
      flag("route.tombstone.on.empty.payload",
           "Debezium: whether an empty payload becomes a tombstone (a null body); a null payload "
           "always is one.",
           "false"),
  };
}

Result<std::optional<ForeignTable>> foreign_table(const Config& config, std::string table) {
  const std::string& format = config.text("format");
  if (std::optional<Error> error = stray_option(config, format)) return std::move(*error);
  if (format == "drom") return std::optional<ForeignTable>();
  Reader reader(config);
  ForeignTable out =
      format == "mapped" ? mapped_table(config, reader) : debezium_table(config, reader);
  if (reader.error()) return std::move(*reader.error());
  out.shape.sql_table = table;
  out.shape.table = std::move(table);
  return std::optional<ForeignTable>(std::move(out));
}

}  // namespace drom::outbox
