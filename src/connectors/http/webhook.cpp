#include "connectors/http/webhook.hpp"

#include <openssl/hmac.h>

#include "connectors/http/base64.hpp"
#include "connectors/http/client.hpp"
#include "connectors/http/http_text.hpp"
#include "connectors/http/url.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::http {
namespace {

constexpr std::string_view kKeyPrefix = "whsec_";
constexpr size_t kAnswerMax = 64 * 1024;  // nobody reads it
constexpr size_t kIdMax = 256;

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return {reinterpret_cast<const char*>(digest), size};
}

struct WebhookOptions {
  Url url;
  ClientOptions client;
  std::vector<std::string> keys;
  ExpressionPtr message_id;  // null: the event id of an outbox row, else the exchange id
  std::string uri;
  bool transacted = true;
};

class WebhookProducer final : public Producer {
 public:
  WebhookProducer(std::shared_ptr<HttpClient> client, WebhookOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  bool defers_in_transaction() const override { return options_.transacted; }

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      if (!exchange.running()) continue;
      Result<void> delivered = co_await deliver(exchange, scope);
      if (!delivered) exchange.fail(std::move(delivered.error()));
    }
  }

 private:
  async<Result<void>> deliver(Exchange& exchange, Scope& scope) {
    if (gone_)
      co_return Error(ErrorKind::rejected,
                      options_.uri + " has answered 410 Gone and gets nothing until a restart",
                      "the receiver has ended this webhook: remove the route, or ask them");
    Result<std::string> id = id_of(exchange, scope);
    if (!id) co_return std::move(id.error());
    const WireRequest request = write(exchange, *id, scope);
    Result<Response> response = co_await client_->send(options_.client, request);
    if (!response) {
      response.error().what = "POST " + options_.uri + ": " + response.error().what;
      co_return std::move(response.error());
    }
    exchange.properties.set("CamelHttpResponseCode", Value(response->status));
    co_return judge(*response, scope);
  }

  Result<std::string> id_of(const Exchange& exchange, const Scope& scope) const {
    std::string id;
    if (options_.message_id) {
      Result<Value> value = options_.message_id->evaluate(exchange, scope.eval());
      if (!value) return std::move(value.error());
      id = value->to_text();
    } else {
      id = exchange.message.headers.text("outbox.eventId");
      if (id.empty())
        id = std::string(scope.env.instance()) + "-" + std::to_string(exchange.serial);
    }
    if (id.empty() || id.size() > kIdMax || id.find_first_of("\r\n.") != std::string::npos ||
        id.find('\0') != std::string::npos)
      return Error(ErrorKind::data, "the message has no id fit for a webhook",
                   "messageId must give 1 to 256 characters without dots and line breaks");
    return id;
  }

  WireRequest write(const Exchange& exchange, const std::string& id, const Scope& scope) const {
    WireRequest out;
    WireBody wire = to_wire_body(exchange.message.body);
    out.body = std::move(wire.body);
    const auto now = std::chrono::floor<std::chrono::seconds>(scope.clock.wall());
    const std::string timestamp = std::to_string(now.time_since_epoch().count());
    std::string& head = out.head;
    head.append("POST ").append(options_.url.path).append(" HTTP/1.1\r\nHost: ");
    head.append(options_.client.target.authority());
    head.append("\r\nUser-Agent: drom/" DROM_VERSION "\r\n");
    const Value* const type = exchange.message.headers.find("Content-Type");
    if (!type || !append_header(head, "Content-Type", *type))
      head.append("Content-Type: ")
          .append(wire.content_type.empty() ? "application/json" : wire.content_type)
          .append("\r\n");
    append_header(head, "webhook-id", Value(id));
    append_header(head, "webhook-timestamp", Value(timestamp));
    if (!options_.keys.empty())
      append_header(head, "webhook-signature",
                    Value(signature(options_.keys, id, timestamp, out.body.raw())));
    for (const char* trace : {"traceparent", "tracestate"})
      if (const Value* value = exchange.message.headers.find(trace))
        append_header(head, trace, *value);
    head.append("Content-Length: ").append(std::to_string(out.body.raw().size()));
    head.append("\r\n\r\n");
    return out;
  }

  // All but 2xx is tried again, for receivers answer 404 and 401 while they are being deployed.
  // What cannot get better is not.
  Result<void> judge(const Response& response, const Scope& scope) {
    const int status = response.status;
    if (status >= 200 && status <= 299) return {};
    gone_ = gone_ || status == 410;
    const bool never = (status >= 300 && status <= 399) || status == 410 || status == 413;
    Error error(never ? ErrorKind::rejected : ErrorKind::transient,
                options_.uri + " answered " + std::to_string(status) + " " +
                    std::string(reason_phrase(status)));
    if (status >= 300 && status <= 399)
      error.hint = "a webhook follows no redirect: name its target";
    if (!never)
      error.retry_after =
          parse_retry_after(response.headers.text("Retry-After"), scope.clock.wall());
    return error;
  }

  std::shared_ptr<HttpClient> client_;
  WebhookOptions options_;
  bool gone_ = false;
};

class WebhookEndpoint final : public Endpoint {
 public:
  WebhookEndpoint(BuildContext& context, WebhookOptions options)
      : context_(context), options_(std::move(options)) {}
  std::string uri() const override { return options_.uri; }
  Result<std::unique_ptr<Producer>> make_producer() override {
    HttpClient& client = HttpClient::of(context_);
    Result<void> prepared = client.prepare(options_.client);
    if (!prepared) return std::move(prepared.error());
    return std::unique_ptr<Producer>(
        std::make_unique<WebhookProducer>(client.shared_from_this(), options_));
  }

 private:
  BuildContext& context_;
  WebhookOptions options_;
};

ConfigSpec webhook_spec() {
  ConfigSpec spec;
  spec.name = "webhook";
  spec.title = "Webhook";
  spec.doc =
      "Delivers each message to a URL that somebody else has named, as Standard Webhooks describes "
      "it: POST with webhook-id (the same at every attempt), webhook-timestamp and "
      "webhook-signature. Any answer but 2xx fails the message and is worth another try, with "
      "Retry-After honoured; redirects and 413 are not, and after 410 Gone nothing is sent any "
      "more. Addresses of private networks are refused. The message stays as it is. Inside a "
      "transaction it waits for the commit; from an outbox it is sent at least once, and "
      "receivers tell repeats by the id.";
  spec.syntax = "webhook:url";
  spec.produces = true;
  spec.options = {
      {.name = "url",
       .doc = "The URL of the receiver.",
       .example = "https://example.com/hooks/orders",
       .required = true,
       .path = true},
      {.name = "secret",
       .doc = "The signing secret, whsec_ and base64, or a plain text; several, separated by "
              "spaces, while one replaces the other. Without it nothing is signed.",
       .secret = true},
      {.name = "messageId",
       .type = OptionType::expression,
       .doc =
           "The id by which the receiver knows a repeat. Default: the event id of an outbox row, "
           "else the exchange id, which lives only as long as this process.",
       .example = "${header.orderId}"},
      {.name = "timeout",
       .type = OptionType::duration,
       .doc = "How long sending and the answer may take.",
       .fallback = "15s",
       .minimum = 1,
       .maximum = 600'000},
      {.name = "connectTimeout",
       .type = OptionType::duration,
       .doc = "How long finding the address, connecting and the TLS handshake may take.",
       .fallback = "5s",
       .minimum = 1,
       .maximum = 600'000},
      {.name = "allowPrivateAddresses",
       .type = OptionType::boolean,
       .doc = "Admits receivers in private networks and on this machine.",
       .fallback = "false"},
      {.name = "caFile",
       .doc = "A PEM file with the authorities to trust, instead of the system's.",
       .example = "certs/ca.pem"},
      {.name = "transacted",
       .type = OptionType::boolean,
       .doc = "Inside a transaction, waits for the commit.",
       .fallback = "true"},
  };
  spec.example =
      "- route:\n    from:\n      uri: outbox:orders\n      steps:\n        - to:\n"
      "            uri: webhook:https://example.com/hooks/orders\n            parameters:\n"
      "              secret: \"{{env:HOOK_SECRET:whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}}\"\n";
  return spec;
}

Result<std::unique_ptr<Endpoint>> make(const Config& config, BuildContext& context) {
  WebhookOptions options;
  Result<Url> url = parse_url(config.text("url"));
  if (!url) return std::move(url.error());
  options.url = std::move(*url);
  Result<std::vector<std::string>> keys = signing_keys(config.text("secret"));
  if (!keys) return std::move(keys.error());
  options.keys = std::move(*keys);
  options.message_id = config.expression("messageId");
  options.transacted = config.flag("transacted");
  options.client.target = options.url.target;
  options.client.target.public_only = !config.flag("allowPrivateAddresses");
  options.client.tls.ca_file = config.text("caFile");
  options.client.connect_timeout = config.duration("connectTimeout");
  options.client.response_timeout = config.duration("timeout");
  options.client.body_bytes_max = kAnswerMax;
  options.uri = "webhook:" + std::string(options.url.target.tls ? "https://" : "http://") +
                options.url.target.authority() +
                options.url.path.substr(0, options.url.path.find('?'));
  return std::unique_ptr<Endpoint>(std::make_unique<WebhookEndpoint>(context, std::move(options)));
}

}  // namespace

Result<std::vector<std::string>> signing_keys(std::string_view secrets) {
  std::vector<std::string> out;
  while (!secrets.empty()) {
    const std::string_view one = secrets.substr(0, secrets.find(' '));
    secrets.remove_prefix(std::min(secrets.size(), one.size() + 1));
    if (one.empty()) continue;
    if (!one.starts_with(kKeyPrefix)) {
      out.emplace_back(one);
      continue;
    }
    std::optional<std::string> key = decode_base64(one.substr(kKeyPrefix.size()));
    if (!key)
      return Error(ErrorKind::config, "secret begins with whsec_, but the rest is no base64");
    out.push_back(std::move(*key));
  }
  return out;
}

std::string signature(const std::vector<std::string>& keys, std::string_view id,
                      std::string_view timestamp, std::string_view body) {
  std::string text(id);
  text.append(".").append(timestamp).append(".").append(body);
  std::string out;
  for (const std::string& key : keys) {
    if (!out.empty()) out += ' ';
    out.append("v1,").append(encode_base64(hmac(key, text)));
  }
  return out;
}

ComponentInfo webhook_component() {
  ComponentInfo out;
  out.scheme = "webhook";
  out.spec = webhook_spec;
  out.make = make;
  return out;
}

}  // namespace drom::http
