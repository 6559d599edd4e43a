#include "connectors/sql/sql.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "connectors/sql/sql_endpoint.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"
#include "sql/data_source.hpp"

namespace drom {
namespace {

using sqlc::SqlOptions;
using sqlc::SqlServices;
using sqlc::SqlText;

class SqlEndpoint final : public Endpoint {
 public:
  SqlEndpoint(SqlServices services, SqlOptions options)
      : services_(services), options_(std::move(options)) {}
  std::string uri() const override { return options_.uri; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    return sqlc::make_consumer(services_, options_);
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return sqlc::make_producer(services_, options_);
  }

 private:
  SqlServices services_;
  SqlOptions options_;
};

OptionSpec flag(std::string name, std::string doc, std::string fallback) {
  return {.name = std::move(name),
          .type = OptionType::boolean,
          .doc = std::move(doc),
          .fallback = std::move(fallback)};
}

std::vector<OptionSpec> common_part() {
  return {
      {.name = "query",
       .doc =
           "The statement, or file:NAME / classpath:NAME of a file that holds it. Values: :#name "
           "from "
           "the fields of the body, the headers or the variables, :#${expression}, # by position, "
           ":#in:name for a list inside IN ( ). A numbered $1 is not allowed.",
       .example = "select * from orders where id = :#id",
       .required = true,
       .path = true},
      {.name = "dataSource",
       .type = OptionType::reference,
       .doc = "The data source; not needed when there is only one.",
       .example = "#orders"},
      flag("allowNamedParameters", "Whether :#name and :?name are parameters.", "true"),
      {.name = "placeholder",
       .doc = "The character that stands for a value by position.",
       .fallback = "#"},
      {.name = "separator",
       .doc = "Separates the elements when a list for IN is one text.",
       .fallback = ","},
  };
}

std::vector<OptionSpec> producer_part() {
  return {
      flag(
          "batch",
          "Whether the body is a list and the statement runs once per element, in one transaction.",
          "false"),
      {.name = "outputType",
       .type = OptionType::enumeration,
       .doc = "SelectList gives a list of objects, SelectOne an object, or the plain value when "
              "there is one "
              "column; StreamList is the same as SelectList.",
       .fallback = "SelectList",
       .values = {"SelectList", "SelectOne", "StreamList"}},
      {.name = "outputHeader",
       .doc = "Header that takes the result; the body then stays as it is.",
       .example = "orderCount"},
      flag("noop", "Whether the result is ignored and the body stays as it is.", "false"),
      flag("alwaysPopulateStatement", "Accepted for Camel's sake; statements are always bound.",
           "false"),
  };
}

std::vector<OptionSpec> consumer_part() {
  return {
      {.name = "initialDelay",
       .type = OptionType::duration,
       .doc = "Time from the start to the first poll.",
       .fallback = "1000",
       .minimum = 0},
      {.name = "delay",
       .type = OptionType::duration,
       .doc = "Time between two polls.",
       .fallback = "500",
       .minimum = 0},
      flag("greedy", "Whether a poll that found rows is followed by the next one at once.",
           "false"),
      {.name = "repeatCount",
       .type = OptionType::integer,
       .doc = "How many polls in all; 0 means no end.",
       .fallback = "0",
       .minimum = 0},
      {.name = "maxMessagesPerPoll",
       .type = OptionType::integer,
       .doc = "How many rows of one poll are taken; 0 means all.",
       .fallback = "0",
       .minimum = 0},
      flag("useIterator",
           "Whether each row is a message of its own; else the whole list is one message.", "true"),
      flag("routeEmptyResultSet",
           "Whether a poll without rows sends an empty list (useIterator=false).", "false"),
      {.name = "onConsume",
       .doc = "Statement that runs after the route has handled a row, with the fields of the row "
              "as parameters.",
       .example = "update orders set seen = 1 where id = :#id"},
      {.name = "onConsumeFailed",
       .doc = "Statement that runs instead of onConsume when the route has failed.",
       .example = "update orders set failed = 1 where id = :#id"},
      {.name = "onConsumeBatchComplete",
       .doc = "Statement that runs after all rows of a poll have been handled."},
      {.name = "expectedUpdateCount",
       .type = OptionType::integer,
       .doc = "How many rows onConsume must change, else it counts as failed; -1 does not check.",
       .fallback = "-1",
       .minimum = -1},
      flag("breakBatchOnConsumeFail",
           "Whether a failed onConsume ends the poll, leaving its other rows for the "
           "next one.",
           "false"),
  };
}

ConfigSpec sql_spec() {
  ConfigSpec spec;
  spec.name = "sql";
  spec.title = "SQL";
  spec.doc =
      "Runs a statement as a step, or polls a query as a source. Values are always bound, never "
      "pasted into "
      "the text. In a transacted block the statement is part of its transaction. A query replaces "
      "the body "
      "by its rows and sets the header CamelSqlRowCount; other statements keep the body and set "
      "CamelSqlUpdateCount. Unlike Camel, no header can replace the statement (CamelSqlQuery is "
      "ignored).";
  spec.syntax = "sql:query";
  spec.consumes = spec.produces = true;
  for (auto part : {common_part(), producer_part(), consumer_part()})
    for (OptionSpec& option : part) spec.options.push_back(std::move(option));
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: direct:find\n"
      "      steps:\n"
      "        - to: \"sql:select * from orders where id = :#${header.id}?outputType=SelectOne\"\n";
  return spec;
}

// The text itself, or that of a file: as named, else beside the route file.
Result<std::string> query_text(const Config& config) {
  std::string_view text = config.text("query");
  bool resource = false;
  for (const std::string_view prefix : {"classpath:", "file:"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    resource = true;
    break;
  }
  if (!resource) return std::string(text);
  while (text.starts_with("//")) text.remove_prefix(1);
  std::filesystem::path path(text);
  std::error_code ignored;
  const Location where = config.where("query");
  if (path.is_relative() && !std::filesystem::exists(path, ignored) && where.file)
    path = std::filesystem::path(*where.file).parent_path() / path;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (file) content << file.rdbuf();
  if (!file) return Error(ErrorKind::config, "cannot read the SQL file " + path.string());
  return content.str();
}

class TextReader {
 public:
  TextReader(const Config& config, sqlc::SqlTextOptions options)
      : config_(config), options_(options) {}
  std::optional<SqlText> read(std::string_view option) {
    if (!config_.given(option)) return std::nullopt;
    return parse(config_.text(option), option);
  }
  std::optional<SqlText> parse(std::string_view text, std::string_view option) {
    Result<SqlText> parsed = sqlc::parse_sql(text, options_);
    if (parsed) return std::move(*parsed);
    if (!failure) {
      failure = std::move(parsed.error());
      failure->what = std::string(option) + ": " + failure->what;
    }
    return std::nullopt;
  }
  std::optional<Error> failure;

 private:
  const Config& config_;
  sqlc::SqlTextOptions options_;
};

Result<std::unique_ptr<Endpoint>> make_sql(const Config& config, BuildContext& context) {
  Result<sql::Database*> database =
      sql::find_data_source(context.registry(), config.text("dataSource"));
  if (!database) return std::move(database.error());
  Result<std::string> text = query_text(config);
  if (!text) return std::move(text.error());
  for (const char* option : {"placeholder", "separator"})
    if (config.text(option).size() != 1)
      return Error(ErrorKind::config, std::string(option) + " must be one character");

  sqlc::SqlTextOptions how;
  how.named = config.flag("allowNamedParameters");
  how.placeholder = config.text("placeholder").front();
  how.backslash_escapes = (*database)->dialect() == sql::Dialect::mysql;
  TextReader reader(config, how);
  SqlOptions options;
  std::optional<SqlText> query = reader.parse(*text, "query");
  options.on_consume = reader.read("onConsume");
  options.on_consume_failed = reader.read("onConsumeFailed");
  options.on_batch_complete = reader.read("onConsumeBatchComplete");
  if (reader.failure) return std::move(*reader.failure);
  options.query = std::move(*query);
  options.uri = "sql:" + config.text("query");
  options.separator = config.text("separator").front();
  options.batch = config.flag("batch");
  options.noop = config.flag("noop");
  if (config.text("outputType") == "SelectOne") options.output = sqlc::OutputType::select_one;
  options.output_header = config.text("outputHeader");
  options.initial_delay = config.duration("initialDelay");
  options.delay = config.duration("delay");
  options.greedy = config.flag("greedy");
  options.repeat_count = config.integer("repeatCount");
  options.messages_per_poll_max = static_cast<size_t>(config.integer("maxMessagesPerPoll"));
  options.use_iterator = config.flag("useIterator");
  options.route_empty = config.flag("routeEmptyResultSet");
  options.expected_update_count = config.integer("expectedUpdateCount");
  options.break_batch = config.flag("breakBatchOnConsumeFail");
  SqlServices services{**database, context.clock(), context.log(), context.env()};
  return std::unique_ptr<Endpoint>(std::make_unique<SqlEndpoint>(services, std::move(options)));
}

}  // namespace

void register_sql_component(Registry& registry) {
  registry.add(ComponentInfo{"sql", sql_spec, make_sql, {}});
}

}  // namespace drom
