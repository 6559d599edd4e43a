#include "sql/kept_sends.hpp"

#include "drom/spi/endpoint.hpp"
#include "drom/spi/route_spec.hpp"
#include "spi/send_targets.hpp"

namespace drom::sql {
namespace {

constexpr const char* kTargetProperty = "dromTarget";

class OutboxSends final : public SendStore {
 public:
  OutboxSends(Producer& outbox, const Scope& scope) : outbox_(outbox), scope_(scope) {}

  async<Result<void>> store(UnitOfWork& unit, std::vector<KeptSend> sends) override {
    Batch batch;
    batch.reserve(sends.size());
    for (KeptSend& send : sends) {
      Exchange exchange = std::move(send.exchange);
      exchange.unit = &unit;
      // Messages without a key keep the order of their endpoint.
      if (exchange.key.empty()) exchange.key = send.target;
      exchange.properties.set(kTargetProperty, std::move(send.target));
      batch.push_back(std::move(exchange));
    }
    Scope scope = scope_;
    co_await outbox_.run(batch, scope);
    for (Exchange& exchange : batch)
      if (exchange.failed()) co_return std::move(*exchange.error);
    co_return Result<void>();
  }

 private:
  Producer& outbox_;
  Scope scope_;
};

OptionText parameter(std::string name, std::string text, const Location& where) {
  OptionText out;
  out.name = std::move(name);
  out.text = std::move(text);
  out.where = where;
  return out;
}

}  // namespace

void keep_sends(const std::string& data_source, const std::string& outbox, const Location& where,
                Database& database, BuildContext& context) {
  // Its relay is found by this name.
  if (!SendTargets::of(context).keep(outbox)) {
    context.diagnostics().error(
        "E0409", where,
        "another data source keeps its sends in an outbox of the name '" + outbox + "'",
        "give each data source an outbox of its own");
    return;
  }
  const std::string uri = "outbox:" + outbox;
  const std::vector<OptionText> source{parameter("dataSource", "#" + data_source, where)};
  std::vector<OptionText> target = source;
  target.push_back(
      parameter("type", std::string("${exchangeProperty.") + kTargetProperty + "}", where));
  Producer* const producer = context.producer(uri, target, where);
  if (!producer) return;
  const Scope scope{context.clock(), context.log(), context.rng(), context.env(), "", ""};
  database.keep_sends(std::make_unique<OutboxSends>(*producer, scope));

  RouteSpec relay;
  relay.id = "outbox-" + outbox;
  relay.where = where;
  relay.from.name = "from";
  relay.from.where = where;
  relay.from.set("uri", uri);
  relay.from.parameters = source;
  StepSpec send;
  send.name = "sendCaptured";
  send.where = where;
  relay.steps.push_back(std::move(send));
  context.add_route(std::move(relay));
}

}  // namespace drom::sql
