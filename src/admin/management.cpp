#include "admin/management.hpp"

#include "observe/exposition.hpp"
#include "observe/health.hpp"
#include "observe/metrics.hpp"
#include "rt/process_stats.hpp"

namespace drom {
namespace {

using http::HttpServer;

struct Page {
  int status = 200;
  std::string_view content_type;
  std::string text;
};

Page health_page(const HealthReport& report) {
  return Page{report.up() ? 200 : 503, "application/json", report.json()};
}

class PageSink final : public http::RequestSink {
 public:
  explicit PageSink(std::function<Page()> make) : make_(std::move(make)) {}
  void accept(std::shared_ptr<http::Responder> responder, http::Request&,
              http::Router::Parameters&) override {
    Page page = make_();
    std::string lines = "Content-Type: ";
    lines.append(page.content_type).append("\r\nCache-Control: no-store\r\n");
    http::Reply reply;
    reply.status = page.status;
    reply.lines = lines;
    reply.body = Value(std::move(page.text));
    responder->reply(std::move(reply));
  }

 private:
  std::function<Page()> make_;
};

// Shared by the engine, so that it lives as long as its server may call.
class Management {
 public:
  Management(Engine& engine, http::ServerSettings settings)
      : counters_(engine.counters()),
        board_(
            engine.context().shared<OutboxBoard>([] { return std::make_shared<OutboxBoard>(); })),
        lags_(engine.context().shared<SourceLagBoard>(
            [] { return std::make_shared<SourceLagBoard>(); })),
        server_(std::make_shared<HttpServer>(engine.io(), engine.clock(), engine.log(),
                                             std::move(settings))) {
    process_.version = DROM_VERSION;
    process_.started = engine.clock().wall();
    // The shard that answers is the one that must turn.
    add("/health/live", [] { return health_page(HealthReport()); });
    add("/health/startup", [this] { return health_page(startup(counters_)); });
    add("/health/ready", [this] { return health_page(readiness(counters_, board_)); });
    add("/health", [this] { return health_page(readiness(counters_, board_)); });
    add("/metrics", [this] { return metrics(); });
  }

  const std::shared_ptr<HttpServer>& server() const { return server_; }

 private:
  void add(const std::string& path, std::function<Page()> make) {
    sinks_.push_back(std::make_unique<PageSink>(std::move(make)));
    for (const std::string prefix : {"", "/observe"}) {
      auto route = std::make_shared<http::Route>();
      route->sink = sinks_.back().get();
      route->path = prefix + path;
      route->methods.add(http::Method::get);
      route->body_bytes_max = 0;
      const Result<void> added = server_->add(route);
      DROM_ASSERT(added.ok());
    }
  }

  Page metrics() {
    process_.resident_bytes = resident_memory_bytes();
    return Page{200, Exposition::kContentType, metrics_text(process_, counters_, board_, lags_)};
  }

  const Counters& counters_;
  const OutboxBoard& board_;
  const SourceLagBoard& lags_;
  ProcessFigures process_;
  std::vector<std::unique_ptr<PageSink>> sinks_;
  std::shared_ptr<HttpServer> server_;
};

async<> start(std::shared_ptr<HttpServer> server, Result<void>& out) {
  out = co_await server->start();
}
async<> stop(std::shared_ptr<HttpServer> server) { co_await server->stop(); }

}  // namespace

Result<void> serve_management(Engine& engine, http::ServerSettings settings) {
  Management& made = engine.context().shared<Management>(
      [&] { return std::make_shared<Management>(engine, std::move(settings)); });
  const std::shared_ptr<HttpServer> server = made.server();
  engine.context().on_stop("management", [server] { return stop(server); });
  Result<void> started;
  engine.run_now(start(server, started));
  return started;
}

}  // namespace drom
