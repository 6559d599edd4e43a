#include "engine/builder.hpp"

#include <algorithm>

#include "drom/spi/route_specs.hpp"
#include "engine/uri.hpp"

namespace drom {
namespace {

constexpr size_t kDynamicProducersMax = 1000;

std::string cache_key(const std::string& uri, const std::vector<OptionText>& parameters) {
  std::string key = uri;
  for (const OptionText& parameter : parameters) {
    key += '\n' + parameter.name + '=' + parameter.text;
    for (const std::string& value : parameter.values) key += ',' + value;
  }
  return key;
}

// What every node may carry is no concern of its maker.
std::vector<OptionText> without_common(const std::vector<OptionText>& options) {
  std::vector<OptionText> out;
  for (const OptionText& option : options) {
    bool common = false;
    for (const OptionSpec& spec : common_options()) common = common || spec.name == option.name;
    if (!common) out.push_back(option);
  }
  return out;
}

OptionText option_text(std::string name, std::string text, const Location& where) {
  OptionText out;
  out.name = std::move(name);
  out.text = std::move(text);
  out.where = where;
  return out;
}

bool disabled(const StepSpec& spec) { return spec.text("disabled") == "true"; }

}  // namespace

Builder::Builder(BuilderServices services, std::vector<std::string> stub_schemes)
    : s_(services), stub_schemes_(std::move(stub_schemes)), diagnostics_(&s_.diagnostics) {}

Builder::~Builder() {
  producers_.clear();
  endpoints_.clear();
  while (!shared_.empty()) shared_.pop_back();
}

std::vector<BuiltRoute> Builder::build(const ContextSpec& spec) {
  building_beans_ = true;
  for (const BeanSpec& bean : spec.beans) build_bean(bean);
  building_beans_ = false;
  for (const RouteSpec& route : spec.routes) {
    if (route.id.empty() || route_ids_.insert(route.id).second) continue;
    diagnostics_->error("E0404", route.where, "the route id '" + route.id + "' is used twice",
                        "route ids name routes in logs and metrics; choose another");
  }
  std::vector<BuiltRoute> routes;
  for (const RouteSpec& route : spec.routes) routes.push_back(build_route(route, spec));
  for (const RouteSpec& route : added_routes_) {
    const std::string uri(route.from.text("uri"));
    const Endpoint* const source = endpoint(uri, route.from.parameters, route.where);
    const auto same = [&](const BuiltRoute& other) { return other.source == source->source(); };
    if (source && std::ranges::none_of(routes, same))
      routes.push_back(build_route(route, ContextSpec()));
  }
  verify_endpoints();
  return routes;
}

void Builder::build_bean(const BeanSpec& spec) {
  const BeanInfo* info = s_.registry.bean_type(spec.type);
  if (!info) {
    diagnostics_->error("E0408", spec.type_where.line ? spec.type_where : spec.where,
                        "unknown bean type '" + spec.type + "'",
                        did_you_mean(spec.type, s_.registry.bean_types()));
    return;
  }
  Diagnostics& problems = *diagnostics_;
  const size_t before = problems.items().size();
  const Config config =
      Config::validate(info->spec(), spec.properties, spec.where, s_.properties, problems);
  if (problems.items().size() > before && problems.has_errors()) return;
  const Result<void> made = info->make(spec.name, config, *this);
  if (!made)
    problems.error("E0409", spec.where, "bean '" + spec.name + "': " + made.error().what,
                   made.error().hint);
}

std::string Builder::name_route(const RouteSpec& spec, const ContextSpec& context) {
  if (!spec.id.empty()) return spec.id;
  for (size_t i = 1; i <= context.routes.size() + 1; ++i) {
    std::string id = "route" + std::to_string(i);
    if (route_ids_.insert(id).second) return id;
  }
  return "route";
}

BuiltRoute Builder::build_route(const RouteSpec& spec, const ContextSpec& context) {
  Diagnostics& problems = *diagnostics_;
  BuiltRoute out;
  route_id_ = name_route(spec, context);
  step_ids_.clear();
  step_numbers_.clear();
  RouteCounters& counters = s_.counters.route(route_id_);
  out.runner = std::make_unique<RouteRunner>(route_id_, *this, counters);

  const Config options = Config::validate(route_spec(), without_common(spec.options), spec.where,
                                          s_.properties, problems);
  out.auto_startup = options.flag("autoStartup");
  const Config from = Config::validate(from_spec(), without_common(spec.from.options),
                                       spec.from.where, s_.properties, problems);
  out.uri = from.text("uri");
  Endpoint* source =
      out.uri.empty() ? nullptr : endpoint(out.uri, spec.from.parameters, from.where("uri"));
  if (source) {
    out.uri = source->uri();
    out.source = source->source();
    out.inline_consumer = source->make_inline_consumer();
    if (!out.inline_consumer) {
      Result<std::unique_ptr<Consumer>> consumer = source->make_consumer();
      if (consumer) {
        out.consumer = std::move(*consumer);
      } else {
        problems.error("E0403", from.where("uri"), consumer.error().what, consumer.error().hint);
      }
    }
  }
  std::unique_ptr<RoutePolicy> policy = build_policy(spec, context, counters);
  std::unique_ptr<Pipeline> pipeline = build_pipeline(spec.steps);
  out.runner->set_body(std::move(pipeline), std::move(policy));
  route_id_.clear();
  return out;
}

std::unique_ptr<RoutePolicy> Builder::build_policy(const RouteSpec& spec,
                                                   const ContextSpec& context,
                                                   RouteCounters& counters) {
  auto policy = std::make_unique<RoutePolicy>(s_.stop, counters);
  std::string wanted;
  for (const OptionText& option : spec.options)
    if (option.name == "routeConfigurationId") wanted = option.text;
  const auto applies = [&](const RouteConfigurationSpec& c) {
    return c.id.empty() || c.id == wanted;
  };

  // The nearest error handler wins: the route's, a configuration's, the context's, Camel's default.
  const StepSpec* handler = &context.error_handler;
  bool found = wanted.empty();
  for (const RouteConfigurationSpec& configuration : context.configurations) {
    found = found || configuration.id == wanted;
    if (applies(configuration) && !configuration.error_handler.name.empty())
      handler = &configuration.error_handler;
  }
  if (!spec.error_handler.name.empty()) handler = &spec.error_handler;
  if (!found) {
    std::vector<std::string> names;
    for (const auto& configuration : context.configurations)
      if (!configuration.id.empty()) names.push_back(configuration.id);
    diagnostics_->error("E0411", spec.where, "no routeConfiguration has the id '" + wanted + "'",
                        did_you_mean(wanted, names));
  }
  const bool handles = handler->name.empty() || build_error_handler(*handler, *policy);

  for (const StepSpec& clause : spec.on_exceptions) build_clause(clause, *policy);
  for (const RouteConfigurationSpec& configuration : context.configurations)
    if (applies(configuration))
      for (const StepSpec& clause : configuration.on_exceptions) build_clause(clause, *policy);
  for (const StepSpec& clause : context.on_exceptions) build_clause(clause, *policy);
  if (!handles && policy->clauses.empty()) return nullptr;
  return policy;
}

// False for noErrorHandler.
bool Builder::build_error_handler(const StepSpec& spec, RoutePolicy& policy) {
  if (spec.name == "noErrorHandler") return false;
  Diagnostics& problems = *diagnostics_;
  const bool dead_letter = spec.name == "deadLetterChannel";
  const Config config =
      Config::validate(dead_letter ? dead_letter_channel_spec() : default_error_handler_spec(),
                       without_common(spec.options), spec.where, s_.properties, problems);
  policy.redelivery = redelivery_policy(config, {}, problems);
  if (!dead_letter || !config.has("deadLetterUri")) return true;
  RoutePolicy::DeadLetter letter;
  letter.uri = config.text("deadLetterUri");
  letter.producer = producer(letter.uri, spec.parameters, config.where("deadLetterUri"));
  letter.use_original_message = config.flag("useOriginalMessage");
  letter.use_original_body = config.flag("useOriginalBody");
  if (letter.producer) policy.dead_letter = std::move(letter);
  return true;
}

void Builder::build_clause(const StepSpec& spec, RoutePolicy& policy) {
  if (disabled(spec)) return;
  Diagnostics& problems = *diagnostics_;
  const Config config = Config::validate(on_exception_spec(), without_common(spec.options),
                                         spec.where, s_.properties, problems);
  RoutePolicy::Clause clause;
  clause.exceptions = config.list("exception");
  clause.on_when = config.expression("onWhen");
  clause.handled = config.expression("handled");
  clause.continued = config.expression("continued");
  clause.retry_while = config.expression("retryWhile");
  clause.use_original_message = config.flag("useOriginalMessage");
  clause.use_original_body = config.flag("useOriginalBody");
  clause.redelivery = redelivery_policy(config, policy.redelivery, problems);
  if (!spec.steps.empty()) clause.steps = build_pipeline(spec.steps);
  policy.clauses.push_back(std::move(clause));
}

std::unique_ptr<Pipeline> Builder::build_pipeline(const std::vector<StepSpec>& specs) {
  std::vector<Step> steps;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (disabled(specs[i])) continue;
    // `- transacted: {}` without steps takes all that follows, as in Camel.
    if (specs[i].name == "transacted" && !specs[i].has_steps && i + 1 < specs.size()) {
      StepSpec whole = specs[i];
      whole.steps.assign(specs.begin() + static_cast<std::ptrdiff_t>(i) + 1, specs.end());
      whole.has_steps = true;
      steps.push_back(build_step(whole));
      break;
    }
    steps.push_back(build_step(specs[i]));
  }
  // A step that could not be made has been reported; the pipeline will not run.
  std::erase_if(steps, [](const Step& step) { return !step.plain && !step.waiting; });
  return std::make_unique<Pipeline>(std::move(steps));
}

Step Builder::build_step(const StepSpec& spec) {
  Diagnostics& problems = *diagnostics_;
  const StepInfo* info = s_.registry.step(spec.name);
  if (!info) {
    problems.error("E0406", spec.where, "unknown step '" + spec.name + "'",
                   did_you_mean(spec.name, s_.registry.step_names()));
    return Step();
  }
  std::string id = name_step(spec);
  const size_t before = problems.items().size();
  const Config config = Config::validate(info->spec(), without_common(spec.options), spec.where,
                                         s_.properties, problems);
  bool wrong = std::any_of(spec.options.begin(), spec.options.end(),
                           [](const OptionText& o) { return o.reported; });
  for (size_t i = before; i < problems.items().size(); ++i)
    wrong = wrong || problems.items()[i].severity == Severity::error;
  if (wrong) {
    build_children_for_errors(spec);
    return Step();
  }
  Step step = info->make(spec, config, *this);
  step.id = std::move(id);
  step.where = spec.where;
  return step;
}

// All errors at once: children of a wrong step are looked at as well.
void Builder::build_children_for_errors(const StepSpec& spec) {
  build_pipeline(spec.steps);
  for (const StepSpec& clause : spec.clauses) build_pipeline(clause.steps);
}

std::string Builder::name_step(const StepSpec& spec) {
  std::string id(spec.text("id"));
  if (id.empty()) {
    do id = spec.name + std::to_string(++step_numbers_[spec.name]);
    while (!step_ids_.insert(id).second);
    return id;
  }
  if (!step_ids_.insert(id).second)
    diagnostics_->error("E0405", spec.find("id")->where,
                        "the step id '" + id + "' is used twice in route '" + route_id_ + "'",
                        "step ids name steps in logs and metrics; choose another");
  return id;
}

bool Builder::stubbed(const std::string& scheme) const {
  for (const std::string& name : stub_schemes_)
    if (name == scheme || (name == "*" && !s_.registry.component(scheme))) return true;
  return false;
}

std::unique_ptr<Endpoint> Builder::make_endpoint(const std::string& uri,
                                                 const std::vector<OptionText>& parameters,
                                                 const Location& where) {
  Diagnostics& problems = *diagnostics_;
  const EndpointUri parts = split_uri(uri);
  const bool stub = stubbed(parts.scheme);
  const ComponentInfo* info = s_.registry.component(stub ? "stub" : parts.scheme);
  if (!info) {
    problems.error("E0401", where, "unknown component '" + parts.scheme + "'",
                   did_you_mean(parts.scheme, s_.registry.component_names()));
    return nullptr;
  }
  const ConfigSpec spec = info->spec();
  std::vector<OptionText> options;
  for (const OptionSpec& option : spec.options) {
    if (!option.path) continue;
    const std::string& text = stub || option.name == "httpUri" ? parts.target : parts.path;
    if (!text.empty() && !(option.name == "httpUri" && parts.path.empty()))
      options.push_back(option_text(option.name, text, where));
    break;
  }
  for (const auto& [name, value] : parts.query) options.push_back(option_text(name, value, where));
  for (const OptionText& parameter : parameters) options.push_back(parameter);
  const size_t before = problems.items().size();
  const Config config = Config::validate(spec, options, where, s_.properties, problems);
  for (size_t i = before; i < problems.items().size(); ++i)
    if (problems.items()[i].severity == Severity::error) return nullptr;
  Result<std::unique_ptr<Endpoint>> made = info->make(config, *this);
  if (!made) {
    problems.error("E0402", where, made.error().what, made.error().hint);
    return nullptr;
  }
  return std::move(*made);
}

Endpoint* Builder::endpoint(const std::string& uri, const std::vector<OptionText>& parameters,
                            const Location& where) {
  const std::string key = cache_key(uri, parameters);
  const auto found = endpoints_.find(key);
  if (found != endpoints_.end()) return found->second.endpoint.get();
  std::unique_ptr<Endpoint> made = make_endpoint(uri, parameters, where);
  return endpoints_.emplace(key, EndpointEntry{std::move(made), where})
      .first->second.endpoint.get();
}

Producer* Builder::producer(const std::string& uri, const std::vector<OptionText>& parameters,
                            const Location& where) {
  Producer* const found = find_producer(uri, parameters, where);
  if (found) joins(found->data_source(), where);
  return found;
}

Producer* Builder::find_producer(const std::string& uri, const std::vector<OptionText>& parameters,
                                 const Location& where) {
  const std::string key = cache_key(uri, parameters);
  const auto found = producers_.find(key);
  if (found != producers_.end()) return found->second.producer.get();
  Endpoint* target = endpoint(uri, parameters, where);
  if (!target) return nullptr;
  Result<std::unique_ptr<Producer>> made = target->make_producer();
  if (!made) {
    diagnostics_->error("E0403", where, made.error().what, made.error().hint);
    return nullptr;
  }
  ProducerEntry entry;
  entry.producer = std::move(*made);
  entry.uri = target->uri();
  return producers_.emplace(key, std::move(entry)).first->second.producer.get();
}

void Builder::begin_unit(Unit unit) {
  const bool inside = !units_.empty() && units_.back();
  if (unit == Unit::none) {
    units_.push_back(nullptr);
  } else if (unit == Unit::join && inside) {
    units_.push_back(units_.back());
  } else {
    units_.push_back(std::make_shared<std::string>());
  }
}

void Builder::joins(const std::string& data_source, const Location& where) {
  if (units_.empty() || !units_.back() || data_source.empty()) return;
  std::string& joined = *units_.back();
  if (joined.empty()) joined = data_source;
  if (joined == data_source) return;
  diagnostics_->error("E0507", where,
                      "the transaction belongs to data source '" + joined +
                          "' and cannot include '" + data_source + "' as well",
                      "two databases cannot commit together: keep the steps of one transacted "
                      "block on one data source and reach the other through an outbox");
}

async<Result<void>> Builder::open_producer(ProducerEntry& entry) {
  if (entry.open) co_return Result<void>();
  Result<void> opened = co_await entry.producer->open();
  entry.open = true;
  if (opened || !opened.error().retryable()) co_return opened;
  // Connects on use; the routes may start.
  s_.log.warn("drom", "cannot open " + entry.uri + " yet: " + opened.error().message());
  co_return Result<void>();
}

async<Result<Producer*>> Builder::dynamic_producer(const std::string& uri) {
  const auto found = producers_.find(cache_key(uri, {}));
  if (found == producers_.end() && dynamic_producers_ >= kDynamicProducersMax)
    co_return Error(
        ErrorKind::rejected,
        "more than " + std::to_string(kDynamicProducersMax) + " different dynamic endpoints",
        "let toD choose among few endpoints; put what varies into headers or the body");
  Diagnostics local;
  diagnostics_ = &local;
  Producer* const made = producer(uri, {}, Location());
  diagnostics_ = &s_.diagnostics;
  if (!made) {
    const Diagnostic* problem = local.items().empty() ? nullptr : &local.items().front();
    co_return Error(ErrorKind::config,
                    problem ? problem->what : "cannot make the endpoint '" + uri + "'",
                    problem ? problem->hint : std::string());
  }
  ProducerEntry& entry = producers_.find(cache_key(uri, {}))->second;
  if (found == producers_.end()) ++dynamic_producers_;
  Result<void> opened = co_await open_producer(entry);
  if (!opened) co_return opened.error();
  co_return made;
}

void Builder::on_start(std::string name, std::function<async<Result<void>>()> work) {
  (building_beans_ ? bean_starts_ : starts_).push_back(Hook{std::move(name), std::move(work)});
}

void Builder::on_stop(std::string name, std::function<async<>()> work) {
  stops_.push_back(StopHook{std::move(name), std::move(work)});
}

std::shared_ptr<void>& Builder::shared_slot(std::type_index type) {
  for (auto& [known, object] : shared_)
    if (known == type) return object;
  return shared_.emplace_back(type, nullptr).second;
}

void Builder::verify_endpoints() {
  // A file with other errors may lack routes that could not be built: no false alarms then.
  if (diagnostics_->has_errors()) return;
  for (const auto& [key, entry] : endpoints_) {
    if (!entry.endpoint) continue;
    const Result<void> fine = entry.endpoint->verify();
    if (!fine) diagnostics_->error("E0407", entry.where, fine.error().what, fine.error().hint);
  }
}

}  // namespace drom
