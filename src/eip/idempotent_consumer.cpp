#include "eip/idempotent_consumer.hpp"

#include "drom/rt/unit_of_work.hpp"
#include "drom/spi/idempotent_repository.hpp"
#include "rt/failpoint.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

constexpr std::string_view kDuplicate = "CamelDuplicateMessage";

// --- run ---------------------------------------------------------------------------------------

class IdempotentConsumer final : public AsyncProcessor {
 public:
  struct Options {
    ExpressionPtr key;
    std::string name;  // empty: route id and step id
    bool eager = true;
    bool skip_duplicate = true;
    bool remove_on_failure = true;
  };
  IdempotentConsumer(Options options, IdempotentRepository& repository,
                     std::unique_ptr<Pipeline> children)
      : options_(std::move(options)), repository_(repository), children_(std::move(children)) {}

  bool takes_batches() const override {
    return options_.eager && options_.skip_duplicate && repository_.transactional() &&
           children_->takes_batches();
  }

  async<> run(Batch& batch, Scope& scope) override {
    if (options_.name.empty())
      options_.name = std::string(scope.route) + "/" + std::string(scope.step);
    if (takes_batches() && shares_a_unit(batch)) co_return co_await run_together(batch, scope);
    for (Exchange& exchange : batch) co_await handle(exchange, scope);
  }

 private:
  // The unit of work commits all or nothing, so there is nothing to confirm or to give back.
  async<> run_together(Batch& batch, Scope& scope) {
    std::vector<std::string> keys;
    for (Exchange& exchange : batch) {
      Result<std::string> key = key_of(exchange, scope);
      if (!key) {
        exchange.fail(std::move(key.error()));
        co_return;
      }
      keys.push_back(std::move(*key));
    }
    Result<std::vector<bool>> fresh =
        co_await repository_.add_all(options_.name, std::move(keys), batch);
    if (!fresh) {
      for (Exchange& exchange : batch) exchange.fail(fresh.error());
      co_return;
    }
    Batch inside;
    for (size_t i = 0; i < batch.size(); ++i) {
      if ((*fresh)[i])
        inside.push_back(std::move(batch[i]));
      else
        batch[i].properties.set(kDuplicate, true);
    }
    if (inside.empty()) co_return;
    co_await children_->run(inside, scope);
    for (size_t i = 0, next = 0; i < batch.size(); ++i)
      if ((*fresh)[i]) batch[i] = std::move(inside[next++]);
  }

  async<> handle(Exchange& exchange, Scope& scope) {
    const Result<std::string> key = key_of(exchange, scope);
    if (!key) {
      exchange.fail(key.error());
      co_return;
    }
    if (failpoint("inbox.before_insert")) {
      exchange.fail(failpoint_error("inbox.before_insert"));
      co_return;
    }
    const Result<bool> fresh = co_await claim(*key, exchange);
    if (!fresh) {
      // The key may or may not be stored now. It is not ours to remove: it may be another's.
      exchange.fail(fresh.error());
      co_return;
    }
    if (!*fresh) {
      exchange.properties.set(kDuplicate, true);
      if (!options_.skip_duplicate) co_await run_one(*children_, exchange, scope);
      co_return;
    }
    if (failpoint("inbox.inserted_no_effect")) {
      exchange.fail(failpoint_error("inbox.inserted_no_effect"));
    } else {
      co_await run_one(*children_, exchange, scope);
      if (!exchange.failed() && failpoint("inbox.effect_no_commit"))
        exchange.fail(failpoint_error("inbox.effect_no_commit"));
    }
    if (exchange.unit && failpoint_hook().load(std::memory_order_relaxed))
      exchange.unit->on_commit([] { failpoint("inbox.committed_no_ack"); });
    if (exchange.failed()) {
      co_await give_back(*key, exchange, scope);
    } else {
      co_await keep(*key, exchange);
    }
  }

  Result<std::string> key_of(const Exchange& exchange, const Scope& scope) const {
    Result<Value> value = options_.key->evaluate(exchange, scope.eval());
    if (!value) return std::move(value.error());
    std::string key = value->to_text();
    if (key.empty())
      return Error(ErrorKind::data, "the message has no key to recognise it by",
                   "the expression of idempotentConsumer gave nothing for it");
    return key;
  }

  // True when the message is new. Eager: the key is taken before the block, so that a second
  // delivery at the same time is a duplicate already.
  async<Result<bool>> claim(const std::string& key, Exchange& exchange) {
    if (options_.eager) {
      Result<bool> added = co_await repository_.add(options_.name, key, exchange);
      co_return added;
    }
    Result<bool> seen = co_await repository_.contains(options_.name, key);
    if (!seen) co_return seen;
    co_return !*seen;
  }

  async<> keep(const std::string& key, Exchange& exchange) {
    if (!options_.eager) {
      Result<bool> added = co_await repository_.add(options_.name, key, exchange);
      if (added.ok() && !*added)
        added = Error(ErrorKind::transient, "the same message was handled twice at the same time",
                      "use eager: true");
      if (!added) {
        exchange.fail(std::move(added.error()));
        co_return;
      }
    }
    Result<void> confirmed = co_await repository_.confirm(options_.name, key, exchange);
    if (!confirmed) exchange.fail(std::move(confirmed.error()));
  }

  // A message that was given up while the engine stops comes again, whatever removeOnFailure says.
  async<> give_back(const std::string& key, Exchange& exchange, Scope& scope) {
    if (!options_.eager) co_return;
    if (!options_.remove_on_failure && exchange.error->kind != ErrorKind::cancelled) co_return;
    const Result<void> removed = co_await repository_.remove(options_.name, key, exchange);
    if (!removed)
      scope.log.warn(scope.route,
                     "the key of a failed message could not be removed, its redelivery will "
                     "be taken for a duplicate: " +
                         removed.error().message());
  }

  Options options_;
  IdempotentRepository& repository_;
  std::unique_ptr<Pipeline> children_;
};

// --- spec --------------------------------------------------------------------------------------

ConfigSpec idempotent_consumer_spec() {
  ConfigSpec spec;
  spec.name = "idempotentConsumer";
  spec.title = "Idempotent Consumer";
  spec.doc =
      "Runs its steps once per key, however often a message is delivered. A message whose key is "
      "known "
      "skips the steps and goes on after the block. With a SQL repository inside `transacted`, key "
      "and "
      "effect commit together: the inbox. If the steps fail, the key is given back, so that a "
      "redelivery is not a duplicate. Give the step an id or a name: keys are kept under it, and "
      "an id "
      "made by the engine changes when the route does.";
  OptionSpec expression =
      required_option("expression", OptionType::expression,
                      "The key that tells messages apart; evaluated once, before the steps.");
  expression.example = "${header.messageId}";
  OptionSpec repository = required_option("idempotentRepository", OptionType::reference,
                                          "The repository (bean) that remembers the keys.");
  repository.example = "inbox";
  spec.options = {
      std::move(expression),
      std::move(repository),
      option("name", OptionType::text,
             "The consumer under which keys are kept; by default route id and step id."),
      option("eager", OptionType::boolean,
             "Takes the key before the steps, so that the same message at the same time is a "
             "duplicate; "
             "false takes it afterwards.",
             "true"),
      option(
          "skipDuplicate", OptionType::boolean,
          "False runs the steps for duplicates too; they carry the property CamelDuplicateMessage.",
          "true"),
      option("removeOnFailure", OptionType::boolean, "Gives the key back when the steps fail.",
             "true"),
      option("completionEager", OptionType::boolean,
             "Accepted for Camel's sake; a key is always confirmed at the end of the block.",
             "true"),
  };
  spec.inline_expression = "expression";
  spec.steps = StepsRule::required;
  spec.example =
      "- transacted:\n    steps:\n      - idempotentConsumer:\n          id: ship\n"
      "          header: messageId\n          idempotentRepository: inbox\n          steps:\n"
      "            - to: \"sql:insert into shipments(order_id) values (:#${header.orderId})\"\n";
  return spec;
}

// --- make --------------------------------------------------------------------------------------

Step make_idempotent_consumer(const StepSpec& spec, const Config& config, BuildContext& context) {
  IdempotentConsumer::Options options;
  options.key = config.expression("expression");
  options.name = config.text("name");
  options.eager = config.flag("eager");
  options.skip_duplicate = config.flag("skipDuplicate");
  options.remove_on_failure = config.flag("removeOnFailure");

  const std::string_view name = bean_name(config.text("idempotentRepository"));
  auto* const repository = context.registry().find<IdempotentRepository>(name);
  if (!repository)
    context.diagnostics().error(
        "E0502", config.where("idempotentRepository"),
        "no idempotent repository '" + std::string(name) + "'",
        did_you_mean(name, context.registry().names<IdempotentRepository>()));
  if (repository && repository->transactional())
    context.joins(repository->data_source(), config.where("idempotentRepository"));
  std::unique_ptr<Pipeline> children = context.build_pipeline(spec.steps);
  if (!repository || !children || !options.key) return Step();
  return Step(
      std::make_unique<IdempotentConsumer>(std::move(options), *repository, std::move(children)));
}

}  // namespace

void register_idempotent_consumer(Registry& registry) {
  registry.add(StepInfo{"idempotentConsumer", idempotent_consumer_spec, make_idempotent_consumer});
}

}  // namespace drom
