#include "chaos/routes.hpp"

namespace drom::chaos {
namespace {

constexpr const char* kRoutes = R"yaml(
- beans:
    - name: db
      type: {type}
      properties: {properties}
    - name: inbox
      type: drom.sqlIdempotentRepository
      properties: { dataSource: db }
- route:
    id: write
    from:
      uri: platform-http:/write
      parameters: { httpMethodRestrict: POST, consumes: application/json }
      steps:
        - unmarshal: { json: {} }
        - transacted:
            steps:
              - to: "sql:{count} RETURNING n?outputType=SelectOne&outputHeader=seq"
              - to: "sql:INSERT INTO ledger (event, tx, {key}, seq, hash, poison) VALUES (:#event, :#tx, :#key, :#${header.seq}, :#hash, :#poison)"
              - to: "outbox:chaos?mode={writes}&type=routed&key=${body[key]}&eventId=${body[event]}"
              - to:                    # kept in outbox_sends
                  uri: webhook:http://127.0.0.1:{{sink}}/hook
                  parameters: { allowPrivateAddresses: true, timeout: 400ms, connectTimeout: 500ms }
              - choice:
                  when:
                    - simple: "${body[rollback]} == 'true'"
                      steps:
                        - throwException: { exceptionType: data, message: rolled back on purpose }
        - transacted:
            steps:
              - to: "seda:audit"       # without a database: waits for the end of the block
        - setBody: { constant: stored }
- route:
    id: audit
    from:
      uri: seda:audit
      steps:
        - setBody: { constant: seen }
- route:
    id: relay
    from:
      uri: outbox:chaos
      parameters: { mode: {mode}, lease: {lease}, maximumAttempts: 0, initialDelay: 20ms, maxDelay: 200ms, maxPollDelay: 50ms, maxInFlight: 16 }
      steps:
{relay}- route:
    id: sends
    from:
      uri: outbox:sends
      parameters: { lease: {lease}, maximumAttempts: 0, initialDelay: 20ms, maxDelay: 200ms, maxPollDelay: 50ms }
      steps:
        - sendCaptured: {}
- route:
    id: replay
    from:
      uri: platform-http:/apply
      parameters: { httpMethodRestrict: POST }
      steps:
        - to: direct:apply
        - setBody: { constant: applied }
- route:
    id: apply
    from:
      uri: direct:apply
      steps:
        - unmarshal: { json: {} }
        - transacted:
            steps:
              - idempotentConsumer:
                  id: apply
                  simple: "${body[event]}"
                  idempotentRepository: inbox
                  steps:
                    - to: "sql:INSERT INTO effects (event) VALUES (:#event)"
)yaml";

// The consumer's effects come after the sink's answer, or by way of the broker.
constexpr const char* kToHttp = R"yaml(        - to:
            uri: http://127.0.0.1:{{sink}}/deliver
            parameters: { responseTimeout: 400ms, connectTimeout: 500ms }
            variableReceive: answer
        - to: direct:apply
)yaml";
constexpr const char* kToBroker = R"yaml(        - to:
            {to broker}
- route:
    id: consume
    from:
      {from broker}
      steps:
        - to: direct:apply
)yaml";

void put(std::string& text, const std::string& mark, const std::string& value) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at))
    text.replace(at, mark.size(), value);
}

}  // namespace

std::string route_file(const std::string& bean_type, const std::string& properties,
                       const std::string& lease, const std::string& mode, const Broker* broker) {
  std::string out = kRoutes;
  put(out, "{relay}", broker ? kToBroker : kToHttp);
  if (broker) {
    put(out, "{to broker}", broker->sink());
    put(out, "{from broker}", broker->source());
  }
  const bool mariadb = bean_type == "drom.mysql";
  put(out, "{count}",
      mariadb
          ? "INSERT INTO accounts (`key`, n) VALUES (:#key, 1) ON DUPLICATE KEY UPDATE n = n + 1"
          : "INSERT INTO accounts AS a (key, n) VALUES (:#key, 1) ON CONFLICT (key) DO UPDATE "
            "SET n = a.n + 1");
  put(out, "{key}", mariadb ? "`key`" : "key");
  put(out, "{type}", bean_type);
  put(out, "{properties}", properties);
  put(out, "{lease}", lease);
  const bool tableless = mode == "tableless";
  put(out, "{writes}", tableless ? "cdc&tableless=true" : mode);
  put(out, "{mode}", tableless ? "cdc" : mode);
  return out;
}

}  // namespace drom::chaos
