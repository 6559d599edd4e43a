#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>

#include "app/cli/common.hpp"
#include "drom/base/json.hpp"
#include "rt/real_clock.hpp"

namespace drom::cli {
namespace {

struct EvalOptions {
  std::string language = "simple";
  bool predicate = false;
  std::string body, body_json;
  bool has_body = false;
  std::vector<std::string> headers, properties, defines;
  std::string expression;
};

// The impure functions of expressions, from the real world.
class CommandEnv final : public EvalEnv {
 public:
  explicit CommandEnv(const PropertySource& properties)
      : properties_(properties), clock_(make_real_clock(io_)), rng_(entropy_seed()) {}
  WallTime now() const override { return clock_->wall(); }
  uint64_t random() const override { return rng_.next(); }
  std::optional<std::string> environment(std::string_view name) const override {
    return properties_.environment(name);
  }
  std::optional<std::string> property(std::string_view key) const override {
    return resolved_property(properties_, key);
  }
  std::string_view instance() const override { return "eval"; }

 private:
  const PropertySource& properties_;
  boost::asio::io_context io_;
  std::unique_ptr<Clock> clock_;
  mutable Rng rng_;
};

bool complain(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  return false;
}

// "NAME=JSON"; a value that is no JSON is taken as text, which is what people type.
bool read_pairs(const std::vector<std::string>& texts, const char* option,
                const std::function<void(std::string, Value)>& set) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return complain(std::string(option) + " " + text + ": expected NAME=JSON");
    const std::string value = text.substr(equals + 1);
    Result<Value> parsed = parse_json(value);
    set(text.substr(0, equals), parsed ? std::move(*parsed) : Value(value));
  }
  return true;
}

bool make_exchange(const EvalOptions& options, Exchange& exchange) {
  if (options.has_body) exchange.message.body = Value(options.body);
  if (!options.body_json.empty()) {
    Result<Value> parsed = parse_json(options.body_json);
    if (!parsed) return complain("--body-json: " + parsed.error().message());
    exchange.message.body = std::move(*parsed);
  }
  return read_pairs(options.headers, "--header",
                    [&](std::string name, Value value) {
                      exchange.message.headers.set(name, std::move(value));
                    }) &&
         read_pairs(options.properties, "--property", [&](std::string name, Value value) {
           exchange.properties.set(name, std::move(value));
         });
}

int eval(const EvalOptions& options) {
  std::vector<std::pair<std::string, std::string>> defines;
  if (!split_defines(options.defines, defines)) return kUsage;
  const auto& languages = expression_languages();
  if (std::find(languages.begin(), languages.end(), options.language) == languages.end()) {
    complain("unknown language '" + options.language + "' (" +
             did_you_mean(options.language, languages) + ")");
    return kUsage;
  }
  Exchange exchange;
  if (!make_exchange(options, exchange)) return kUsage;
  ExpressionError error;
  const ExpressionPtr expression = compile_expression(
      options.language, options.expression,
      options.predicate ? ExpressionUse::predicate : ExpressionUse::value, error);
  if (!expression) {
    std::fprintf(stderr, "error: %s\n  %s\n  %*s^\n", error.what.c_str(),
                 options.expression.c_str(), static_cast<int>(error.offset), "");
    if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
    return kConfig;
  }
  Diagnostics problems;
  const auto properties = load_properties(defines, {}, problems);
  const CommandEnv env(*properties);
  const EvalScope scope{env, "eval", "eval"};
  if (options.predicate) {
    const Result<bool> result = expression->matches(exchange, scope);
    if (result) {
      std::printf("%s\n", *result ? "true" : "false");
      return kOk;
    }
    complain(result.error().message());
    return kFailed;
  }
  const Result<Value> result = expression->evaluate(exchange, scope);
  if (!result) {
    complain(result.error().message());
    return kFailed;
  }
  // Bytes that are text are shown as text: the result is for people and for jq.
  const Value shown = result->is_bytes() ? Value(result->raw()) : *result;
  std::printf("%s\n", to_json(shown).c_str());
  return kOk;
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("eval", "Evaluates one expression and prints the result as JSON");
  auto options = std::make_shared<EvalOptions>();
  verb->add_option("--language", options->language, "simple, jsonpath, constant, header ...")
      ->capture_default_str();
  verb->add_flag("--predicate", options->predicate,
                 "Evaluate as a condition: prints true or false");
  auto* body = verb->add_option("--body", options->body, "The body, as text");
  verb->add_option("--body-json", options->body_json, "The body, as JSON")->excludes(body);
  verb->add_option("--header", options->headers, "A header; may be repeated")
      ->type_name("NAME=JSON");
  verb->add_option("--property", options->properties, "An exchange property; may be repeated")
      ->type_name("NAME=JSON");
  verb->add_option("-D,--define", options->defines, "A property for ${properties:name}")
      ->type_name("NAME=VALUE");
  verb->add_option("expression", options->expression, "The expression")->required();
  verb->footer(
      "Examples:\n"
      "  drom eval --body-json '{\"total\": 12}' -- '${body[total]} > 10'\n"
      "  drom eval --predicate --header type=gold -- \"${header.type} == 'gold'\"\n"
      "  drom eval --language jsonpath --body-json '{\"a\":[1,2]}' -- '$.a[0]'\n\n"
      "Exit codes: 0, 1 the evaluation failed, 64 wrong call, 78 the expression is wrong.");
  verb->callback([options, body, &exit_code] {
    options->has_body = body->count() > 0;
    exit_code = eval(*options);
  });
}

}  // namespace drom::cli
