#include "connectors/http/client.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <list>

#include "drom/spi/build_context.hpp"

namespace drom::http {
namespace {

constexpr milliseconds kSweepPeriod(50);
constexpr milliseconds kStopPause(2);
constexpr size_t kHostsMax = 1000;

async<> stop_client(std::shared_ptr<HttpClient> client) { co_await client->stop(); }

}  // namespace

// The connections to one host with one set of certificates.
struct HttpClient::Host {
  TlsContext tls;
  std::vector<std::unique_ptr<Connection>> idle;  // the most recently used at the end
  size_t busy = 0;
  std::list<Alarm*> waiting;

  size_t open() const { return busy + idle.size(); }
  void wake_one() {
    if (!waiting.empty()) waiting.front()->ring();
  }
  void forget(const Connection* connection) {
    std::erase_if(idle, [&](const auto& each) { return each.get() == connection; });
  }
};

// A place among the connections of a host, also when the coroutine is destroyed on its way.
struct HttpClient::Lease {
  std::shared_ptr<Host> host;
  explicit Lease(std::shared_ptr<Host> h) : host(std::move(h)) { ++host->busy; }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    --host->busy;
    host->wake_one();
  }
};

HttpClient& HttpClient::of(BuildContext& context) {
  return context.shared<HttpClient>([&] {
    auto made = std::make_shared<HttpClient>(context.io(), context.clock());
    context.on_stop("http client", [made] { return stop_client(made); });
    return made;
  });
}

HttpClient::HttpClient(boost::asio::io_context& io, Clock& clock)
    : io_(io), clock_(clock), sweep_(io, clock, kSweepPeriod) {}

HttpClient::~HttpClient() = default;

Result<std::shared_ptr<HttpClient::Host>> HttpClient::host(const ClientOptions& options) {
  const Target& target = options.target;
  std::string key =
      (target.tls ? "https://" : "http://") + target.host + ":" + std::to_string(target.port);
  if (target.tls) key += options.trust_all ? " any" : " " + options.ca_file;
  if (target.public_only) key += " public";
  const auto found = hosts_.find(key);
  if (found != hosts_.end()) return found->second;
  if (hosts_.size() >= kHostsMax)
    std::erase_if(hosts_, [](const auto& each) { return each.second->open() == 0; });
  if (hosts_.size() >= kHostsMax)
    return Error(ErrorKind::transient, "connections to too many hosts at once");
  auto made = std::make_shared<Host>();
  if (target.tls) {
    Result<TlsContext> tls = make_client_tls(options.ca_file, options.trust_all);
    if (!tls) return std::move(tls.error());
    made->tls = std::move(*tls);
  }
  hosts_.emplace(std::move(key), made);
  return made;
}

Result<void> HttpClient::prepare(const ClientOptions& options) {
  Result<std::shared_ptr<Host>> prepared = host(options);
  if (!prepared) return std::move(prepared.error());
  return {};
}

async<Result<void>> HttpClient::wait_for_room(std::shared_ptr<Host> host,
                                              const ClientOptions& options) {
  const SteadyTime until = clock_.steady() + options.connect_timeout;
  struct Waiting {
    Host& host;
    std::list<Alarm*>::iterator at;
    Waiting(Host& h, Alarm* alarm) : host(h), at(h.waiting.insert(h.waiting.end(), alarm)) {}
    Waiting(const Waiting&) = delete;
    ~Waiting() { host.waiting.erase(at); }
  };
  while (host->busy >= options.connections_max) {
    const auto left = std::chrono::ceil<milliseconds>(until - clock_.steady());
    if (left.count() <= 0)
      co_return Error(ErrorKind::timeout,
                      "no free connection to " + options.target.host + " in time",
                      "raise connectionsPerRoute, or let fewer exchanges run at once");
    const std::unique_ptr<Alarm> alarm = clock_.make_alarm();
    const Waiting waiting(*host, alarm.get());
    co_await alarm->wait(left);
  }
  co_return Result<void>();
}

async<Result<std::unique_ptr<Connection>>> HttpClient::connect(std::shared_ptr<Host> host,
                                                               const ClientOptions& options) {
  auto connection = std::make_unique<Connection>(io_, sweep_);
  Result<void> connected =
      co_await connection->connect(options.target, host->tls, clock_, options.connect_timeout);
  if (!connected) co_return std::move(connected.error());
  co_return std::move(connection);
}

async<Result<Response>> HttpClient::send(const ClientOptions& options, const WireRequest& request) {
  Result<std::shared_ptr<Host>> found = host(options);
  if (!found) co_return std::move(found.error());
  const std::shared_ptr<Host> host = *found;
  Result<void> room = co_await wait_for_room(host, options);
  if (!room) co_return std::move(room.error());
  const Lease lease(host);
  std::unique_ptr<Connection> connection;
  while (!connection && !host->idle.empty()) {
    connection = std::move(host->idle.back());
    host->idle.pop_back();
    if (connection->stale()) connection.reset();
  }
  bool reused = connection != nullptr;
  while (true) {
    if (!connection) {
      Result<std::unique_ptr<Connection>> fresh = co_await connect(host, options);
      if (!fresh) co_return std::move(fresh.error());
      connection = std::move(*fresh);
    }
    Result<Response> response =
        co_await connection->exchange(request, options.response_timeout, options.body_bytes_max);
    // A reused connection may have ended just when the request was sent. Only what may be done
    // twice is sent twice, and only once.
    const bool ended = !response && response.error().kind == ErrorKind::transient;
    if (ended && reused && connection->unanswered() && request.idempotent) {
      connection.reset();
      reused = false;
      continue;
    }
    if (response && response->keep_alive && !stopped_) {
      Connection* const kept = connection.get();
      host->idle.push_back(std::move(connection));
      const std::weak_ptr<Host> owner = host;
      kept->idle(options.idle_timeout, [owner, kept] {
        if (const std::shared_ptr<Host> alive = owner.lock()) alive->forget(kept);
      });
    }
    co_return response;
  }
}

async<> HttpClient::stop() {
  stopped_ = true;
  size_t busy = 0;
  for (const auto& [key, host] : hosts_) {
    host->idle.clear();
    busy += host->busy;
  }
  // The sweep ends with the last connection, on its next turn.
  while (busy == 0 && sweep_.running()) co_await clock_.sleep(kStopPause);
}

}  // namespace drom::http
