#include "connectors/http/http_producer.hpp"

#include "connectors/http/producer_config.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::http {
namespace {

constexpr int kRedirectsMax = 5;
constexpr size_t kErrorBodyMax = 64 * 1024;

bool is_credential(std::string_view name) {
  return iequals(name, "Authorization") || iequals(name, "Cookie");
}

bool may_repeat(std::string_view method) { return method != "POST" && method != "PATCH"; }

bool takes_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

// One request on its way, through its redirects.
struct Attempt {
  ClientOptions client;
  std::string path;
  std::string method;
  Value body;
  std::string_view content_type;
  bool credentials = true;  // not to a host that a redirect has named
};

class HttpProducer final : public Producer {
 public:
  HttpProducer(std::shared_ptr<HttpClient> client, ProducerOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  bool defers_in_transaction() const override { return options_.in_only; }
  bool defers_when_in_only() const override { return true; }

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      if (!exchange.running()) continue;
      Result<Response> response = co_await send(exchange, scope);
      if (response)
        take(exchange, std::move(*response), scope);
      else
        exchange.fail(std::move(response.error()));
    }
  }

 private:
  async<Result<Response>> send(Exchange& exchange, Scope& scope) {
    Attempt attempt = begin(exchange);
    for (int redirects = 0;; ++redirects) {
      const WireRequest request = write(attempt, exchange.message.headers, scope);
      Result<Response> response = co_await client_->send(attempt.client, request);
      if (!response) {
        response.error().what = attempt.method + " " + options_.uri + ": " + response.error().what;
        co_return response;
      }
      if (!options_.follow_redirects || redirects == kRedirectsMax || !redirect(*response, attempt))
        co_return response;
    }
  }

  Attempt begin(const Exchange& exchange) const {
    Attempt out;
    out.client = options_.client;
    out.path = options_.url.path;
    WireBody wire = to_wire_body(exchange.message.body);
    out.method = options_.method;
    if (out.method.empty()) out.method = wire.body.raw().empty() ? "GET" : "POST";
    if (takes_body(out.method)) {
      out.body = std::move(wire.body);
      out.content_type = wire.content_type;
    }
    return out;
  }

  WireRequest write(const Attempt& attempt, const Headers& headers, Scope& scope) const {
    WireRequest out;
    out.body = attempt.body;
    out.head_only = attempt.method == "HEAD";
    out.idempotent = may_repeat(attempt.method);
    std::string& head = out.head;
    head.append(attempt.method).append(" ").append(attempt.path).append(" HTTP/1.1\r\nHost: ");
    head.append(attempt.client.target.authority()).append("\r\n");
    const bool content = takes_body(attempt.method);
    bool typed = false;
    bool agent = false;
    const bool configured = attempt.credentials && !options_.authorization.empty();
    for (const Headers::Entry& entry : headers) {
      const std::string& name = entry.first;
      if (is_engine_header(name) || is_transport_header(name) || iequals(name, "Accept-Encoding"))
        continue;
      if (is_credential(name) && (!options_.forward_credentials || !attempt.credentials)) continue;
      if (configured && iequals(name, "Authorization")) continue;
      if (!content && name.size() > 8 && iequals(std::string_view(name).substr(0, 8), "Content-"))
        continue;
      if (!append_header(head, name, entry.second)) {
        scope.log.warn(scope.route, "the header '" + name + "' cannot be sent to " + options_.uri +
                                        ": bad characters");
        continue;
      }
      typed = typed || iequals(name, "Content-Type");
      agent = agent || iequals(name, "User-Agent");
    }
    if (configured) head.append("Authorization: ").append(options_.authorization).append("\r\n");
    if (!agent) head += "User-Agent: drom/" DROM_VERSION "\r\n";
    if (content) {
      if (!typed && !attempt.content_type.empty())
        head.append("Content-Type: ").append(attempt.content_type).append("\r\n");
      head.append("Content-Length: ").append(std::to_string(out.body.raw().size())).append("\r\n");
    }
    head += "\r\n";
    return out;
  }

  // Turns `attempt` towards the place that the answer names; false when it must not go there.
  static bool redirect(const Response& response, Attempt& attempt) {
    const int status = response.status;
    const bool reads = attempt.method == "GET" || attempt.method == "HEAD";
    const bool moved = status == 301 || status == 302 || status == 307 || status == 308;
    if (!(moved && reads) && status != 303) return false;
    const std::string_view location = response.headers.text("Location");
    const Target& now = attempt.client.target;
    const std::string base = (now.tls ? "https://" : "http://") + now.authority();
    const bool local = location.starts_with('/') && !location.starts_with("//");
    Result<Url> url = parse_url(local ? base + std::string(location) : std::string(location));
    if (!url || (now.tls && !url->target.tls)) return false;
    if (url->target != now) attempt.credentials = false;
    attempt.client.target = url->target;
    attempt.path = std::move(url->path);
    if (status == 303 && attempt.method != "HEAD") attempt.method = "GET";
    if (status == 303) attempt.body = Value();
    return true;
  }

  void take(Exchange& exchange, Response response, Scope& scope) const {
    if (options_.throw_on_failure && !options_.is_ok(response.status)) {
      fail(exchange, std::move(response), scope);
      return;
    }
    Message& message = exchange.message;
    // They described the body that is gone.
    for (const char* stale : {"Content-Type", "Content-Encoding", "Content-Language"})
      message.headers.erase(stale);
    for (const Headers::Entry& entry : response.headers)
      message.headers.set(entry.first, entry.second);
    message.headers.set("CamelHttpResponseCode", Value(response.status));
    message.headers.set("CamelHttpResponseText", Value(std::move(response.reason)));
    message.body = response.body.empty() ? Value() : Value(Bytes(std::move(response.body)));
  }

  void fail(Exchange& exchange, Response response, Scope& scope) const {
    const int status = response.status;
    const bool again = status == 408 || status == 425 || status == 429 || status >= 500;
    Error error(again ? ErrorKind::transient : ErrorKind::rejected,
                options_.uri + " answered " + std::to_string(status) + " " +
                    std::string(reason_phrase(status)));
    error.type = "org.apache.camel.http.base.HttpOperationFailedException";
    if (again)
      error.retry_after =
          parse_retry_after(response.headers.text("Retry-After"), scope.clock.wall());
    response.body.resize(std::min(response.body.size(), kErrorBodyMax));
    exchange.properties.set("CamelHttpResponseCode", Value(status));
    exchange.properties.set("CamelHttpResponseBody", Value(Bytes(std::move(response.body))));
    exchange.fail(std::move(error));
  }

  std::shared_ptr<HttpClient> client_;
  ProducerOptions options_;
};

class HttpEndpoint final : public Endpoint {
 public:
  HttpEndpoint(BuildContext& context, ProducerOptions options)
      : context_(context), options_(std::move(options)) {}
  std::string uri() const override { return options_.uri; }
  Result<std::unique_ptr<Producer>> make_producer() override {
    HttpClient& client = HttpClient::of(context_);
    Result<void> prepared = client.prepare(options_.client);
    if (!prepared) return std::move(prepared.error());
    if (options_.client.trust_all)
      context_.log().warn("http", "trustAllCertificates is set: " + options_.uri +
                                      " is not authenticated, anybody may pretend to be it");
    std::unique_ptr<Producer> producer =
        std::make_unique<HttpProducer>(client.shared_from_this(), options_);
    return producer;
  }

 private:
  BuildContext& context_;
  ProducerOptions options_;
};

Result<std::unique_ptr<Endpoint>> make(const Config& config, BuildContext& context) {
  Result<ProducerOptions> options = read_producer_options(config);
  if (!options) return std::move(options.error());
  return std::unique_ptr<Endpoint>(std::make_unique<HttpEndpoint>(context, std::move(*options)));
}

}  // namespace

ComponentInfo http_component() {
  ComponentInfo out;
  out.scheme = "http";
  out.spec = producer_spec;
  out.make = make;
  out.aliases = {"https"};
  return out;
}

}  // namespace drom::http
