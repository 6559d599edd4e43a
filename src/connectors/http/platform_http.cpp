#include "connectors/http/platform_http.hpp"

#include <algorithm>

#include "connectors/http/exchange_mapping.hpp"
#include "connectors/http/negotiation.hpp"
#include "connectors/http/server.hpp"
#include "drom/spi/build_context.hpp"
#include "spi/step_support.hpp"

namespace drom::http {
namespace {

struct ConsumerOptions {
  size_t concurrency = 64;
  size_t queue_max = 1024;
  AnswerRules answer;
};

class PlatformHttpConsumer final : public Consumer, private RequestSink {
 public:
  PlatformHttpConsumer(std::shared_ptr<HttpServer> server, std::shared_ptr<Route> route,
                       ConsumerOptions options, Clock& clock, Log& log, const EvalEnv& env)
      : server_(std::move(server)),
        route_(std::move(route)),
        options_(options),
        log_(log),
        env_(env),
        arrived_(clock.make_alarm()) {
    route_->sink = this;
  }
  ~PlatformHttpConsumer() override {
    route_->sink = nullptr;
    server_->remove(route_.get());
  }

  ConsumerTraits traits() const override {
    ConsumerTraits out;
    out.in_flight_max = options_.concurrency;
    out.poll_max = options_.concurrency;
    return out;
  }

  async<Result<void>> open() override {
    open_ = true;
    co_return Result<void>();
  }

  async<Result<Batch>> poll(size_t max) override {
    if (taken_ == queue_.size() && open_) co_await arrived_->wait(milliseconds::max());
    Batch out;
    const size_t count = std::min(max, queue_.size() - taken_);
    out.reserve(count);
    for (size_t i = 0; i < count; ++i) out.push_back(std::move(queue_[taken_++]));
    forget_taken();
    co_return out;
  }

  async<Result<void>> settle(std::vector<Receipt> receipts) override {
    for (Receipt& receipt : receipts) settle_one(receipt);
    co_return Result<void>();
  }

  // What is queued already has been accepted and is still polled; what comes now is told to come
  // later.
  void stop() override {
    open_ = false;
    arrived_->ring();
  }

  async<> close() override {
    open_ = false;
    for (; taken_ < queue_.size(); ++taken_) {
      Receipt receipt{std::move(queue_[taken_]), Outcome::released};
      settle_one(receipt);
    }
    forget_taken();
    co_await server_->flush();
  }

 private:
  // A request on its way through the route; Exchange::delivery is its place.
  struct Pending {
    std::shared_ptr<Responder> responder;
    RequestMarks marks;
    std::string_view produces;  // what the client likes best of what the route produces
  };

  void accept(std::shared_ptr<Responder> responder, Request& request,
              Router::Parameters& parameters) override {
    if (!open_ || queue_.size() - taken_ >= options_.queue_max) {
      write_unavailable(answer_);
      return send(*responder);
    }
    Exchange exchange(Message(), ExchangePattern::in_out);
    const std::string_view produces =
        negotiate(request.headers.text("Accept"), route_->produces).value_or(std::string_view());
    if (!fill_message(exchange.message, request, parameters, server_->tls() ? "https" : "http")) {
      const Error error(ErrorKind::data,
                        "the query has a bad escape, a line break, or too many parameters");
      write_failure(answer_, error, "", AnswerRules());
      return send(*responder);
    }
    if (free_.empty()) {
      free_.push_back(pending_.size());
      pending_.emplace_back();
    }
    const size_t place = free_.back();
    free_.pop_back();
    pending_[place].responder = std::move(responder);
    pending_[place].marks.note(exchange.message.headers);
    pending_[place].produces = produces;
    exchange.delivery = place;
    if (taken_ == queue_.size()) arrived_->ring();  // once per batch
    queue_.push_back(std::move(exchange));
  }

  // A queue that is never quite empty must not grow for ever.
  void forget_taken() {
    if (taken_ * 2 < queue_.size()) return;
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }

  void settle_one(Receipt& receipt) {
    Exchange& exchange = receipt.exchange;
    DROM_ASSERT(exchange.delivery < pending_.size());
    Pending& pending = pending_[exchange.delivery];
    const std::shared_ptr<Responder> responder = std::move(pending.responder);
    if (!responder) return;
    switch (receipt.outcome) {
      case Outcome::done:
        options_.answer.produces = pending.produces;
        write_answer(answer_, std::move(exchange.message), pending.marks, options_.answer, log_);
        break;
      case Outcome::failed:
        write_failure(answer_, *exchange.error, id(exchange), options_.answer);
        break;
      case Outcome::released: write_unavailable(answer_); break;
    }
    free_.push_back(exchange.delivery);
    send(*responder);
  }

  // May call accept() again, with the next request of the connection.
  void send(Responder& responder) {
    const std::string lines = std::move(answer_.lines);
    Reply reply;
    reply.status = answer_.status;
    reply.lines = lines;
    reply.body = std::move(answer_.body);
    reply.stream = std::move(answer_.stream);
    responder.reply(std::move(reply));
  }

  std::string id(const Exchange& exchange) const {
    return std::string(env_.instance()) + "-" + std::to_string(exchange.serial);
  }

  std::shared_ptr<HttpServer> server_;
  std::shared_ptr<Route> route_;
  ConsumerOptions options_;
  Log& log_;
  const EvalEnv& env_;
  std::unique_ptr<Alarm> arrived_;
  std::vector<Exchange> queue_;  // from taken_ on
  size_t taken_ = 0;
  std::vector<Pending> pending_;
  std::vector<size_t> free_;
  Answer answer_;
  bool open_ = false;
};

class PlatformHttpEndpoint final : public Endpoint {
 public:
  PlatformHttpEndpoint(BuildContext& context, Route route, ConsumerOptions options)
      : context_(context), route_(std::move(route)), options_(options) {}

  std::string uri() const override { return "platform-http:" + route_.path; }

  // The route is known to the server from here on, as the server starts before the consumers do.
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    Result<HttpServer*> server = HttpServer::of(context_);
    if (!server) return std::move(server.error());
    auto route = std::make_shared<Route>(route_);
    Result<void> added = (*server)->add(route);
    if (!added) return std::move(added.error());
    std::unique_ptr<Consumer> consumer = std::make_unique<PlatformHttpConsumer>(
        (*server)->shared_from_this(), std::move(route), options_, context_.clock(), context_.log(),
        context_.env());
    return consumer;
  }

 private:
  BuildContext& context_;
  Route route_;
  ConsumerOptions options_;
};

OptionSpec number(std::string name, std::string doc, std::string fallback, int64_t low,
                  int64_t high, OptionType type = OptionType::integer) {
  return bounded(option(std::move(name), type, std::move(doc), std::move(fallback)), low, high);
}

ConfigSpec platform_http_spec() {
  ConfigSpec spec;
  spec.name = "platform-http";
  spec.title = "Platform HTTP";
  spec.doc =
      "Serves a route over the HTTP server of the engine. Each request is one exchange whose "
      "message, as the route leaves it, is the answer. Headers of the request, {parameters} of the "
      "path and query parameters become headers; names that start with Camel or with a "
      "connector's prefix are dropped. The status is the header CamelHttpResponseCode, else 200, "
      "or 204 without a body. Failed exchanges answer 400 (bad data), 422 (refused), 503 with "
      "Retry-After (worth another try) or 500, with a JSON body that tells nothing but the "
      "exchange id. Where the server listens is set by the properties drom.http.host (0.0.0.0), "
      "drom.http.port (8080; 0 is any free port), drom.http.certificateFile and drom.http.keyFile "
      "(TLS), drom.http.clientCaFile and drom.http.clientAuth (none, want, need: certificates of "
      "clients); its limits by drom.http.maxConnections, maxRequests, "
      "maxBodyMemory, maxHeaderSize, "
      "headerTimeout, bodyTimeout, idleTimeout, writeTimeout, minRate and drainTimeout. Several "
      "operations of one service are shorter to write with `rest`.";
  spec.syntax = "platform-http:path";
  spec.consumes = true;
  OptionSpec path = option("path", OptionType::text,
                           "The path, with {parameters} that become headers.", {}, "/orders/{id}");
  path.required = true;
  path.path = true;
  spec.options = {
      path,
      option("httpMethodRestrict", OptionType::list,
             "The methods that are served; others are answered with 405, OPTIONS with the list.",
             {}, "GET,POST"),
      option("consumes", OptionType::text,
             "Media types of a request body; others are answered with 415.", {},
             "application/json"),
      option(
          "produces", OptionType::text,
          "Media types of the answer; a request that accepts none of them is answered with 406. Of "
          "several the one that Accept likes best becomes the Content-Type.",
          {}, "application/json"),
      option("matchOnUriPrefix", OptionType::boolean, "Serves all paths below this one, too.",
             "false"),
      number("maxBodySize", "The largest request body; larger ones are answered with 413.", "1MB",
             0, int64_t{1} << 40, OptionType::size),
      option("useStreaming", OptionType::boolean,
             "Hands a request to the route when its head is there, with the body as a stream that "
             "can be read once: by http, file and the answer itself. A step that looks at the body "
             "gets it read into memory, up to 10 MB.",
             "false"),
      number("concurrency", "How many requests the route works on at once.", "64", 1, 10'000),
      number("queueSize", "How many further requests wait; more are answered with 503.", "1024", 1,
             100'000),
      option("muteException", OptionType::boolean,
             "Leaves the error text out of the answer to bad data, too.", "false"),
      option("returnHttpRequestHeaders", OptionType::boolean,
             "Sends the headers of the request back when the route leaves them as they came.",
             "false"),
      option("corsEnabled", OptionType::boolean,
             "Lets browsers call from other origins and answers their preflight requests.",
             "false"),
      option("corsAllowOrigin", OptionType::list, "The origins that may call; * is any.", "*",
             "https://shop.example.com"),
      option("corsAllowMethods", OptionType::text, "The methods that a preflight answer allows.",
             "GET, HEAD, POST, PUT, DELETE, TRACE, OPTIONS, CONNECT, PATCH"),
      option("corsAllowHeaders", OptionType::text, "The headers that a preflight answer allows.",
             "Origin, Accept, X-Requested-With, Content-Type, Access-Control-Request-Method, "
             "Access-Control-Request-Headers"),
      option("corsExposeHeaders", OptionType::text,
             "Further headers of an answer that scripts of other origins may read.", "", "ETag"),
      option("corsAllowCredentials", OptionType::boolean,
             "Whether cookies and passwords may come along; the origins must be named then.",
             "false"),
      option("corsMaxAge", OptionType::duration, "How long a preflight answer may be kept.", "1h"),
  };
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: platform-http:/orders/{id}\n"
      "      parameters:\n"
      "        httpMethodRestrict: GET\n"
      "      steps:\n"
      "        - setBody:\n"
      "            simple: order ${header.id}\n";
  return spec;
}

Result<MethodSet> methods_of(const Config& config) {
  MethodSet out;
  for (const std::string& name : config.list("httpMethodRestrict")) {
    std::string upper = name;
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    const Method method = parse_method(upper);
    if (method == Method::unknown)
      return Error(ErrorKind::config, "httpMethodRestrict cannot be '" + name + "'",
                   "use " + MethodSet::all().text());
    out.add(method);
  }
  return out.empty() ? MethodSet::all() : out;
}

Result<std::unique_ptr<Endpoint>> make(const Config& config, BuildContext& context) {
  Result<MethodSet> methods = methods_of(config);
  if (!methods) return std::move(methods.error());
  for (const char* name :
       {"consumes", "produces", "corsAllowMethods", "corsAllowHeaders", "corsExposeHeaders"})
    if (has_header_injection(config.text(name)))
      return Error(ErrorKind::config, std::string(name) + " cannot hold a line break");
  Route route;
  route.path = config.text("path");
  if (!route.path.starts_with('/')) route.path.insert(0, "/");
  route.prefix = config.flag("matchOnUriPrefix");
  route.methods = *methods;
  route.consumes = config.text("consumes");
  route.produces = config.text("produces");
  route.body_bytes_max = static_cast<uint64_t>(config.integer("maxBodySize"));
  route.streams = config.flag("useStreaming");
  route.cors.enabled = config.flag("corsEnabled");
  route.cors.origins = config.list("corsAllowOrigin");
  route.cors.methods = config.text("corsAllowMethods");
  route.cors.headers = config.text("corsAllowHeaders");
  route.cors.exposed = config.text("corsExposeHeaders");
  route.cors.max_age = config.duration("corsMaxAge");
  route.cors.credentials = config.flag("corsAllowCredentials");
  if (route.cors.credentials &&
      std::ranges::find(route.cors.origins, "*") != route.cors.origins.end())
    return Error(ErrorKind::config, "corsAllowCredentials cannot be with any origin",
                 "name the origins that may call in corsAllowOrigin");
  ConsumerOptions options;
  options.concurrency = static_cast<size_t>(config.integer("concurrency"));
  options.queue_max = static_cast<size_t>(config.integer("queueSize"));
  options.answer.mute_exception = config.flag("muteException");
  options.answer.return_request_headers = config.flag("returnHttpRequestHeaders");
  return std::unique_ptr<Endpoint>(
      std::make_unique<PlatformHttpEndpoint>(context, std::move(route), options));
}

}  // namespace

ComponentInfo platform_http_component() {
  ComponentInfo out;
  out.scheme = "platform-http";
  out.spec = platform_http_spec;
  out.make = make;
  return out;
}

}  // namespace drom::http
