#include "connectors/http/http_producer.hpp"

#include "connectors/http/answer_stream.hpp"
#include "connectors/http/file_body.hpp"
#include "connectors/http/outgoing.hpp"
#include "connectors/http/producer_config.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::http {
namespace {

constexpr size_t kErrorBodyMax = 64 * 1024;

// Bodies that are files.
struct Files {
  std::unique_ptr<FileSource> source;
  std::unique_ptr<FileSink> sink;
};

// What the attempts of one request share.
struct Course {
  SteadyTime begin{};
  int attempts = 0;
  int redirects = 0;
  bool renewed = false;  // the token, after a 401
};

class HttpProducer final : public Producer {
 public:
  HttpProducer(std::shared_ptr<HttpClient> client, std::shared_ptr<TokenSource> tokens,
               std::shared_ptr<Lane> lane, ProducerOptions options)
      : client_(std::move(client)),
        tokens_(std::move(tokens)),
        lane_(std::move(lane)),
        options_(std::move(options)),
        takes_streams_(!options_.multipart && !reads_body(options_.idempotency_key) &&
                       !reads_body(options_.file_name)) {}

  bool takes_streams() const override { return takes_streams_; }
  bool defers_in_transaction() const override { return options_.in_only; }
  bool defers_when_in_only() const override { return true; }

  async<> run(Batch& batch, Scope& scope) override {
    for (Exchange& exchange : batch) {
      if (!exchange.running()) continue;
      Result<void> done = co_await handle(exchange, scope);
      if (!done) exchange.fail(std::move(done.error()));
    }
  }

 private:
  static bool reads_body(const ExpressionPtr& expression) {
    return expression && expression->reads_body();
  }

  async<Result<void>> handle(Exchange& exchange, Scope& scope) {
    Result<Outgoing> out = begin_request(options_, exchange, scope);
    if (!out) co_return std::move(out.error());
    Files files;
    if (lane_) {
      Result<void> opened = co_await open_files(exchange, *out, files, scope);
      if (!opened) co_return opened;
    }
    Result<Response> response = co_await send(*out, exchange.message.headers, scope);
    if (!response) {
      response.error().what = out->method + " " + options_.uri + ": " + response.error().what;
      co_return std::move(response.error());
    }
    std::string path;
    if (files.sink && files.sink->began()) {
      Result<std::string> kept = co_await files.sink->keep();
      if (!kept) co_return std::move(kept.error());
      path = std::move(*kept);
      if (files.sink->decoded()) response->headers.erase("Content-Encoding");
    }
    take(exchange, std::move(*response), scope);
    if (!path.empty() && exchange.running()) {
      exchange.message.body = Value(std::move(path));
      exchange.message.stream = nullptr;
      exchange.message.headers.set("CamelFileLength",
                                   Value(static_cast<int64_t>(files.sink->size())));
    }
    co_return Result<void>();
  }

  async<Result<void>> open_files(const Exchange& exchange, Outgoing& out, Files& files,
                                 Scope& scope) {
    const std::string id =
        std::string(scope.env.instance()) + "-" + std::to_string(exchange.serial);
    std::string name = id;
    if (options_.file_name) {
      Result<Value> value = options_.file_name->evaluate(exchange, scope.eval());
      if (!value) co_return std::move(value.error());
      name = value->to_text();
    }
    if (!options_.upload_directory.empty()) {
      Result<std::unique_ptr<FileSource>> source =
          co_await FileSource::open(lane_, options_.upload_directory, name);
      if (!source) co_return std::move(source.error());
      files.source = std::move(*source);
      out.source = files.source.get();
    }
    if (!options_.download_directory.empty()) {
      FileSinkRules rules;
      rules.wanted = [this](int status) { return options_.is_ok(status); };
      rules.decode = options_.decode;
      rules.limits = options_.decode_limits;
      if (!std::exchange(swept_, true))
        co_await drop_half_files(lane_, options_.download_directory, scope.clock.wall());
      std::string unique = id + "-" + scope.rng.uuid();
      Result<std::unique_ptr<FileSink>> sink = co_await FileSink::open(
          lane_, options_.download_directory, std::move(name), std::move(unique), std::move(rules));
      if (!sink) co_return std::move(sink.error());
      files.sink = std::move(*sink);
      out.sink = files.sink.get();
    }
    co_return Result<void>();
  }

  // Until there is an answer that counts, or no attempt is left.
  async<Result<Response>> send(Outgoing& out, const Headers& headers, Scope& scope) {
    Course course;
    if (is_limited()) course.begin = scope.clock.steady();
    while (true) {
      std::string authorization = out.credentials ? options_.authorization : std::string();
      std::string token;
      if (tokens_ && out.credentials) {
        Result<std::string> got = co_await tokens_->token(left(course, scope.clock));
        if (!got) co_return std::move(got.error());
        token = std::move(*got);
        authorization = "Bearer " + token;
      }
      const WireRequest request = write_request(options_, out, headers, authorization, scope);
      ++course.attempts;
      Result<Response> response =
          co_await client_->send(*out.client, request, left(course, scope.clock));
      if (response && options_.decode) decode(response);
      const bool again = !out.source || !out.takes_body || out.source->rewind();
      if (again && response && response->status == 401 && !token.empty() && !course.renewed &&
          tokens_->refused(token)) {
        course.renewed = true;
        --course.attempts;
        continue;
      }
      const std::optional<milliseconds> wait =
          retry_wait(options_.retry, course.attempts, request.idempotent, response,
                     scope.clock.wall(), scope.rng);
      if (again && wait && *wait < left(course, scope.clock)) {
        const bool waited = co_await client_->pause(*wait);
        if (waited) continue;
      }
      if (!response || options_.redirects_max == 0) co_return response;
      const Redirected moved = redirect(*response, out);
      if (moved == Redirected::no) co_return response;
      if (moved == Redirected::refused)
        co_return Error(
            ErrorKind::rejected,
            "a redirect to where it must not go (" + std::to_string(response->status) + ")",
            "redirects never lead from https to http; name the target itself");
      if (!again && out.takes_body)
        co_return Error(ErrorKind::rejected,
                        "a redirect asks for the body again, which is a stream that has been read",
                        "name the target itself, or leave out useStreaming");
      if (++course.redirects > options_.redirects_max)
        co_return Error(ErrorKind::rejected,
                        "more than " + std::to_string(options_.redirects_max) + " redirects",
                        "option maxRedirects");
    }
  }

  bool is_limited() const { return options_.total_timeout != milliseconds::max(); }

  milliseconds left(const Course& course, Clock& clock) const {
    if (!is_limited()) return milliseconds::max();
    const auto used = std::chrono::floor<milliseconds>(clock.steady() - course.begin);
    return std::max(options_.total_timeout - used, milliseconds(0));
  }

  // The body as it was before it was packed.
  void decode(Result<Response>& response) const {
    const std::string codings(response->headers.text("Content-Encoding"));
    if (codings.empty()) return;
    if (response->stream) {
      response->stream = std::make_shared<DecodedStream>(std::move(response->stream), codings,
                                                         options_.decode_limits);
      response->headers.erase("Content-Encoding");
      return;
    }
    if (response->body.empty()) return;
    std::string body;
    const Decoded outcome = decode_content(codings, response->body, options_.decode_limits, body);
    if (outcome != Decoded::ok) {
      Error error(ErrorKind::rejected, "the body of the answer " + std::string(to_string(outcome)));
      if (outcome == Decoded::too_large) error.hint = "options maxResponseSize, maxDecodingRatio";
      response = std::move(error);
      return;
    }
    response->body = std::move(body);
    response->headers.erase("Content-Encoding");
  }

  void take(Exchange& exchange, Response response, Scope& scope) const {
    if (options_.throw_on_failure && !options_.is_ok(response.status)) {
      fail(exchange, std::move(response), scope);
      return;
    }
    Message& message = exchange.message;
    if (!options_.copy_headers) message.headers.clear();
    // They described the body that is gone.
    for (const char* stale : {"Content-Type", "Content-Encoding", "Content-Language"})
      message.headers.erase(stale);
    message.headers.reserve(message.headers.size() + response.headers.size() + 2);
    for (const Headers::Entry& entry : response.headers)
      if (!options_.skip_response_headers || iequals(entry.first, "Content-Type"))
        message.headers.set(entry.first, entry.second);
    message.headers.set("CamelHttpResponseCode", Value(response.status));
    message.headers.set("CamelHttpResponseText", Value(std::move(response.reason)));
    message.stream = std::move(response.stream);
    const bool none = response.body.empty() || options_.ignore_response_body;
    message.body = none ? Value() : Value(Bytes(std::move(response.body)));
  }

  void fail(Exchange& exchange, Response response, Scope& scope) const {
    const int status = response.status;
    const bool again = status == 408 || status == 425 || status == 429 || status >= 500;
    Error error(again ? ErrorKind::transient : ErrorKind::rejected,
                options_.uri + " answered " + std::to_string(status) + " " +
                    std::string(reason_phrase(status)));
    error.type = "org.apache.camel.http.base.HttpOperationFailedException";
    if (status >= 300 && status <= 399 && status != 304 && options_.redirects_max == 0)
      error.hint = "redirects are followed with followRedirects=true";
    if (status == 401) error.hint = "check the credentials: authUsername, authBearerToken, oauth2*";
    if (status == 407) error.hint = "check proxyAuthUsername and proxyAuthPassword";
    if (again)
      error.retry_after =
          parse_retry_after(response.headers.text("Retry-After"), scope.clock.wall());
    response.body.resize(std::min(response.body.size(), kErrorBodyMax));
    exchange.properties.set("CamelHttpResponseCode", Value(status));
    exchange.properties.set("CamelHttpResponseBody", Value(Bytes(std::move(response.body))));
    exchange.fail(std::move(error));
  }

  std::shared_ptr<HttpClient> client_;
  std::shared_ptr<TokenSource> tokens_;  // null: no OAuth
  std::shared_ptr<Lane> lane_;           // null: no body is a file
  ProducerOptions options_;
  bool takes_streams_;
  bool swept_ = false;  // the download directory, of what a killed process has left
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
    if (options_.oauth && !tokens_) {
      OAuthOptions oauth = *options_.oauth;
      prepared = client.prepare(oauth.client);
      if (!prepared) return std::move(prepared.error());
      tokens_ = std::make_shared<TokenSource>(client.shared_from_this(), std::move(oauth));
    }
    if (options_.client.tls.trust_all)
      context_.log().warn("http", "trustAllCertificates is set: " + options_.uri +
                                      " is not authenticated, anybody may pretend to be it");
    std::shared_ptr<Lane> lane;
    if (!options_.upload_directory.empty() || !options_.download_directory.empty())
      lane = file_lane(context_);
    std::unique_ptr<Producer> producer = std::make_unique<HttpProducer>(
        client.shared_from_this(), tokens_, std::move(lane), options_);
    return producer;
  }

 private:
  BuildContext& context_;
  ProducerOptions options_;
  std::shared_ptr<TokenSource> tokens_;  // one for all producers of this endpoint
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
