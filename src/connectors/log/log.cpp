#include "connectors/log/log.hpp"

#include "connectors/log/log_format.hpp"
#include "connectors/log/throughput.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"

namespace drom {
namespace {

struct LogOptions {
  std::string name;
  LogLevel level = LogLevel::info;
  LogFormat format;
  std::optional<ThroughputOptions> throughput;
};

class LogProducer final : public Producer {
 public:
  LogProducer(LogOptions options, Log& log, Clock& clock)
      : options_(std::move(options)), log_(log), clock_(clock) {
    if (options_.throughput) throughput_.emplace(*options_.throughput);
  }

  async<> run(Batch& batch, Scope& scope) override {
    if (throughput_) {
      const SteadyTime now = scope.clock.steady();
      for (size_t i = 0; i < batch.size(); ++i) write(throughput_->count(now));
      co_return;
    }
    if (!log_.enabled(options_.level)) co_return;
    for (const Exchange& exchange : batch)
      for (const std::string& line :
           format_exchange(exchange, options_.format, scope.env.instance(), scope.route))
        log_.write(options_.level, options_.name, line);
  }
  async<> close() override {
    if (throughput_) write(throughput_->rest(clock_.steady()));
    co_return;
  }

 private:
  void write(const std::optional<std::string>& line) {
    if (line) log_.write(options_.level, options_.name, *line);
  }

  LogOptions options_;
  Log& log_;
  Clock& clock_;
  std::optional<Throughput> throughput_;
};

class LogEndpoint final : public Endpoint {
 public:
  LogEndpoint(LogOptions options, Log& log, Clock& clock)
      : options_(std::move(options)), log_(log), clock_(clock) {}
  std::string uri() const override { return "log:" + options_.name; }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return std::unique_ptr<Producer>(std::make_unique<LogProducer>(options_, log_, clock_));
  }

 private:
  LogOptions options_;
  Log& log_;
  Clock& clock_;
};

struct Flag {
  const char* name;
  bool LogFormat::* field;
  const char* doc;
};
constexpr Flag kFlags[] = {
    {"showAll", &LogFormat::show_all, "Whether everything below is shown."},
    {"showExchangeId", &LogFormat::show_exchange_id, "Whether the id of the exchange is shown."},
    {"showExchangePattern", &LogFormat::show_exchange_pattern,
     "Whether the exchange pattern (InOnly or InOut) is shown."},
    {"showRouteId", &LogFormat::show_route_id, "Whether the id of the route is shown."},
    {"showProperties", &LogFormat::show_properties, "Whether the exchange properties are shown."},
    {"showVariables", &LogFormat::show_variables, "Whether the variables are shown."},
    {"showHeaders", &LogFormat::show_headers, "Whether the headers are shown."},
    {"showBodyType", &LogFormat::show_body_type, "Whether the kind of the body is shown."},
    {"showBody", &LogFormat::show_body, "Whether the body is shown."},
    {"showException", &LogFormat::show_exception,
     "Whether the error of a failed exchange is shown."},
    {"showCaughtException", &LogFormat::show_caught_exception,
     "Whether the error that was handled last is shown."},
    {"multiline", &LogFormat::multiline, "Whether every field gets a line of its own."},
    {"skipBodyLineSeparator", &LogFormat::skip_body_line_separator,
     "Whether line ends inside the body are left out."},
    {"plain", &LogFormat::plain, "Whether only the body is written, without any decoration."},
};

constexpr std::pair<std::string_view, LogLevel> kLevels[] = {
    {"TRACE", LogLevel::trace}, {"DEBUG", LogLevel::debug}, {"INFO", LogLevel::info},
    {"WARN", LogLevel::warn},   {"ERROR", LogLevel::error}, {"OFF", LogLevel::off}};

ConfigSpec log_spec() {
  ConfigSpec spec;
  spec.name = "log";
  spec.title = "Log";
  spec.doc =
      "Writes each message to the log, or, with groupSize or groupInterval, how many messages "
      "there "
      "were and how fast. Headers, properties, variables and members of a structured body whose "
      "names say that they are secrets (authorization, cookie, password, token, secret ...) are "
      "masked. For a text of your own use the log step.";
  spec.syntax = "log:loggerName";
  spec.produces = true;
  OptionSpec level = {.name = "level",
                      .type = OptionType::enumeration,
                      .doc = "The level of the lines.",
                      .fallback = "INFO",
                      .example = "DEBUG"};
  for (const auto& [name, ignored] : kLevels) level.values.emplace_back(name);
  spec.options = {{.name = "loggerName",
                   .doc = "The category of the lines.",
                   .example = "orders",
                   .required = true,
                   .path = true},
                  std::move(level)};
  const LogFormat defaults;
  for (const Flag& flag : kFlags)
    spec.options.push_back({.name = flag.name,
                            .type = OptionType::boolean,
                            .doc = flag.doc,
                            .fallback = defaults.*flag.field ? "true" : "false"});
  spec.options.push_back({.name = "maxChars",
                          .type = OptionType::integer,
                          .doc = "Longer lines are cut; 0 means no limit.",
                          .fallback = "10000",
                          .example = "200",
                          .minimum = 0});
  spec.options.push_back({.name = "groupSize",
                          .type = OptionType::integer,
                          .doc = "Writes one line about the throughput per so many messages.",
                          .example = "1000",
                          .minimum = 1});
  spec.options.push_back(
      {.name = "groupInterval",
       .type = OptionType::duration,
       .doc = "Writes one line about the throughput when so much time has passed, at the next "
              "message and at the stop.",
       .example = "10s",
       .minimum = 1});
  spec.options.push_back({.name = "groupDelay",
                          .type = OptionType::duration,
                          .doc =
                              "With groupInterval: how long after the first message the counting "
                              "begins.",
                          .fallback = "0",
                          .example = "5s",
                          .minimum = 0});
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: timer:tick\n"
      "      steps:\n"
      "        - to:\n"
      "            uri: log:orders\n"
      "            parameters: {level: DEBUG, showHeaders: true, maxChars: 200}\n";
  return spec;
}

Result<std::unique_ptr<Endpoint>> make_log(const Config& config, BuildContext& context) {
  LogOptions options;
  options.name = config.text("loggerName");
  for (const auto& [name, level] : kLevels)
    if (name == config.text("level")) options.level = level;
  for (const Flag& flag : kFlags) options.format.*flag.field = config.flag(flag.name);
  options.format.max_chars = static_cast<size_t>(config.integer("maxChars"));
  const bool by_size = config.given("groupSize");
  const bool by_time = config.given("groupInterval");
  if (by_size && by_time)
    return Error(ErrorKind::config, "groupSize and groupInterval exclude each other");
  if (by_size || by_time) {
    options.throughput.emplace();
    if (by_size) options.throughput->group_size = config.integer("groupSize");
    if (by_time) {
      options.throughput->group_interval = config.duration("groupInterval");
      options.throughput->group_delay = config.duration("groupDelay");
    }
  }
  return std::unique_ptr<Endpoint>(
      std::make_unique<LogEndpoint>(std::move(options), context.log(), context.clock()));
}

}  // namespace

void register_log_component(Registry& registry) {
  ComponentInfo info;
  info.scheme = "log";
  info.spec = log_spec;
  info.make = make_log;
  registry.add(std::move(info));
}

}  // namespace drom
