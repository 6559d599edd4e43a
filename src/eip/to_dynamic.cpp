#include "eip/to_dynamic.hpp"

#include <algorithm>

#include "eip/send.hpp"
#include "eip/uri_template.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

class ToDynamic final : public AsyncProcessor {
 public:
  struct Options {
    UriTemplate uri;
    std::vector<std::string> allowed;  // empty: the scheme is written in the template
    bool ignore_invalid = false;
    SendOptions send;
  };
  ToDynamic(Options options, BuildContext& context)
      : options_(std::move(options)), context_(context) {}

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) co_await send_one(exchange, scope);
  }

 private:
  async<> send_one(Exchange& exchange, Scope& scope) {
    Result<std::string> uri = options_.uri.fill(exchange, scope.eval());
    if (uri.ok() && !options_.allowed.empty()) uri = checked(std::move(*uri));
    if (!uri) {
      exchange.fail(std::move(uri.error()));
      co_return;
    }
    const std::string& target = *uri;
    Result<Producer*> producer = co_await context_.dynamic_producer(target);
    if (!producer) {
      if (!options_.ignore_invalid) exchange.fail(std::move(producer.error()));
      co_return;
    }
    Producer& found = **producer;
    co_await send(exchange, found, options_.send, scope);
  }

  Result<std::string> checked(std::string uri) const {
    const std::string_view scheme = scheme_of(uri);
    for (const std::string& allowed : options_.allowed)
      if (iequals(allowed, scheme)) return uri;
    return Error(
        ErrorKind::rejected,
        "the computed URI has the scheme '" + std::string(scheme) + "', which is not allowed",
        "list it in allowedSchemes if messages may choose it");
  }

  Options options_;
  BuildContext& context_;
};

ConfigSpec to_d_spec() {
  ConfigSpec spec;
  spec.name = "toD";
  spec.title = "To Dynamic";
  spec.doc =
      "Sends the message to an endpoint whose URI is computed per message. The scheme must be "
      "written "
      "in the URI (`kafka:${header.topic}`) or be listed in allowedSchemes; separators in computed "
      "values are escaped, so that a message can fill in a name but not add options. At most 1000 "
      "endpoints are kept open.";
  OptionSpec uri = required_option("uri", OptionType::text, "The endpoint, with ${...} filled in.");
  uri.example = "seda:${header.queue}";
  spec.options.push_back(std::move(uri));
  OptionSpec schemes =
      option("allowedSchemes", OptionType::list,
             "Schemes that a computed URI may have; required when the URI begins with ${...}.");
  schemes.example = "seda,direct";
  spec.options.push_back(std::move(schemes));
  spec.options.push_back(option("ignoreInvalidEndpoint", OptionType::boolean,
                                "Goes on without sending when the computed URI is no endpoint.",
                                "false"));
  spec.options.push_back(
      option("cacheSize", OptionType::integer,
             "Accepted for Camel's sake; at most 1000 endpoints are kept open."));
  add_send_options(spec);
  spec.scalar = "uri";
  spec.parameters = true;
  spec.example = "- toD:\n    uri: \"seda:${header.queue}\"\n";
  return spec;
}

Step make_to_d(const StepSpec& spec, const Config& config, BuildContext& context) {
  const Location where = config.where("uri");
  std::optional<UriTemplate> uri =
      UriTemplate::compile(config.text("uri"), spec.parameters, where, context);
  if (!uri) return Step();
  ToDynamic::Options options{std::move(*uri), config.list("allowedSchemes"),
                             config.flag("ignoreInvalidEndpoint"), read_send_options(config)};
  if (options.uri.scheme().empty() && options.allowed.empty()) {
    context.diagnostics().error(
        "E0504", where, "a message would choose the kind of endpoint",
        "write the scheme (`direct:${...}`) or list what is allowed in allowedSchemes");
    return Step();
  }
  return Step(std::make_unique<ToDynamic>(std::move(options), context));
}

}  // namespace

void register_to_dynamic(Registry& registry) {
  registry.add(StepInfo{"toD", to_d_spec, make_to_d});
}

}  // namespace drom
