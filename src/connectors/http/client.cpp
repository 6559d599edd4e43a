#include "connectors/http/client.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>

#include "connectors/http/answer_stream.hpp"
#include "drom/spi/build_context.hpp"

namespace drom::http {
namespace {

constexpr milliseconds kSweepPeriod(50);
constexpr milliseconds kStopPause(2);
constexpr milliseconds kRefusalHold(1000);

async<> stop_client(std::shared_ptr<HttpClient> client) { co_await client->stop(); }

// What is left of the time for a request. Looks at the clock only when there is a limit.
class Budget {
 public:
  Budget(Clock& clock, milliseconds total) : clock_(clock), limited_(total != milliseconds::max()) {
    if (limited_) until_ = clock.steady() + total;
  }
  milliseconds cap(milliseconds wanted) const {
    if (!limited_) return wanted;
    const auto left = std::chrono::ceil<milliseconds>(until_ - clock_.steady());
    return std::clamp(left, milliseconds(0), wanted);
  }

 private:
  Clock& clock_;
  bool limited_;
  SteadyTime until_{};
};

Error out_of_time() { return Error(ErrorKind::timeout, "no answer within the total time"); }

std::string key_of(const ClientOptions& options, bool proxied) {
  const Target& target = options.target;
  std::string key = target.tls ? "https://" : "http://";
  key.append(target.host).append(":").append(std::to_string(target.port));
  if (target.tls) key.append(" ").append(options.tls.id());
  if (target.public_only) key += " public";
  // Not two users in one tunnel.
  if (proxied) key.append(" ").append(options.proxy->name()).append(options.proxy->authorization);
  return key;
}

}  // namespace

HttpClient& HttpClient::of(BuildContext& context) {
  return context.shared<HttpClient>([&] {
    auto made = std::make_shared<HttpClient>(context.io(), context.clock());
    context.on_stop("http client", [made] { return stop_client(made); });
    return made;
  });
}

HttpClient::HttpClient(boost::asio::io_context& io, Clock& clock)
    : io_(io),
      clock_(clock),
      sweep_(io, clock, kSweepPeriod),
      pool_(std::make_shared<ConnectionPool>(clock)) {}

HttpClient::~HttpClient() = default;

Result<std::shared_ptr<HttpClient::Host>> HttpClient::host(const ClientOptions& options) {
  const bool proxied = options.proxy && options.proxy->serves(options.target.host);
  const std::string fresh = options.key.empty() ? key_of(options, proxied) : std::string();
  const std::string& key = options.key.empty() ? fresh : options.key;
  if (std::shared_ptr<Host> known = pool_->find(key)) return known;
  Way way;
  way.target = options.target;
  if (proxied) way.proxy = options.proxy;
  if (options.target.tls) {
    Result<TlsContext> tls = make_client_tls(options.tls);
    if (!tls) return std::move(tls.error());
    way.tls = std::move(*tls);
  }
  return pool_->add(key, std::move(way));
}

Result<void> HttpClient::prepare(ClientOptions& options) {
  options.key = key_of(options, options.proxy && options.proxy->serves(options.target.host));
  Result<std::shared_ptr<Host>> prepared = host(options);
  if (!prepared) return std::move(prepared.error());
  return {};
}

async<Result<std::unique_ptr<Connection>>> HttpClient::connect(std::shared_ptr<Host> host,
                                                               milliseconds timeout) {
  if (host->refusal && clock_.steady() < host->refused_until) co_return *host->refusal;
  if (timeout.count() <= 0) co_return out_of_time();
  auto connection = std::make_unique<Connection>(io_, sweep_);
  Result<void> connected = co_await connection->connect(host->way, clock_, timeout);
  host->refusal.reset();
  if (connected) co_return std::move(connection);
  if (connected.error().kind == ErrorKind::rejected) {
    host->refusal = connected.error();
    host->refused_until = clock_.steady() + kRefusalHold;
  }
  co_return std::move(connected.error());
}

async<Result<Response>> HttpClient::send(const ClientOptions& options, const WireRequest& request,
                                         milliseconds total) {
  const Budget budget(clock_, total);
  Result<std::shared_ptr<Host>> found = host(options);
  if (!found) co_return std::move(found.error());
  const std::shared_ptr<Host> host = *found;
  std::optional<ConnectionPool::Lease> lease = pool_->try_lease(host, options.connections);
  if (!lease) {
    Result<ConnectionPool::Lease> waited =
        co_await pool_->wait(host, options.connections, budget.cap(options.lease_timeout));
    if (!waited) co_return std::move(waited.error());
    lease.emplace(std::move(*waited));
  }
  std::unique_ptr<Connection> connection = pool_->take(*host, options.connections);
  bool reused = connection != nullptr;
  while (true) {
    if (!connection) {
      Result<std::unique_ptr<Connection>> fresh =
          co_await connect(host, budget.cap(options.connect_timeout));
      if (!fresh) co_return std::move(fresh.error());
      connection = std::move(*fresh);
    }
    const milliseconds timeout = budget.cap(options.response_timeout);
    if (timeout.count() <= 0) co_return out_of_time();
    Result<Response> response =
        co_await connection->exchange(request, timeout, options.body_bytes_max);
    // A reused connection may have ended just when the request was sent. Only what may be done
    // twice is sent twice, and only once.
    const bool ended = !response && response.error().kind == ErrorKind::transient;
    const bool again = !request.source || request.source->rewind();
    if (ended && reused && connection->unanswered() && request.idempotent && again) {
      connection.reset();
      reused = false;
      continue;
    }
    if (response && connection->unfinished()) {
      AnswerStream::Way way{shared_from_this(),       host,
                            std::move(*lease),        std::move(connection),
                            options.response_timeout, options.idle_timeout};
      response->stream = std::make_shared<AnswerStream>(std::move(way));
    } else if (response && response->keep_alive) {
      keep(host, std::move(connection), options.idle_timeout);
    }
    co_return response;
  }
}

void HttpClient::keep(const std::shared_ptr<Host>& host, std::unique_ptr<Connection> connection,
                      milliseconds idle_timeout) {
  if (!stopped_) pool_->give_back(host, std::move(connection), idle_timeout);
}

async<bool> HttpClient::pause(milliseconds duration) {
  struct Pausing {
    std::set<Alarm*>& all;
    Alarm* alarm;
    Pausing(std::set<Alarm*>& a, Alarm* one) : all(a), alarm(one) { all.insert(alarm); }
    Pausing(const Pausing&) = delete;
    Pausing& operator=(const Pausing&) = delete;
    ~Pausing() { all.erase(alarm); }
  };
  if (stopped_) co_return false;
  const std::unique_ptr<Alarm> alarm = clock_.make_alarm();
  const Pausing pausing(pauses_, alarm.get());
  const bool rung = co_await alarm->wait(duration);
  co_return !rung;
}

async<> HttpClient::stop() {
  stopped_ = true;
  for (Alarm* alarm : pauses_) alarm->ring();
  pool_->clear();
  // The sweep ends with the last connection, on its next turn.
  while (pool_->busy() == 0 && sweep_.running()) co_await clock_.sleep(kStopPause);
}

}  // namespace drom::http
