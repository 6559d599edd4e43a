#include "connectors/http/pool.hpp"

#include "drom/rt/clock.hpp"

namespace drom::http {
namespace {

constexpr size_t kHostsMax = 1000;

}  // namespace

std::shared_ptr<ConnectionPool::Host> ConnectionPool::find(const std::string& key) const {
  const auto found = hosts_.find(key);
  return found == hosts_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<ConnectionPool::Host>> ConnectionPool::add(const std::string& key, Way way) {
  if (hosts_.size() >= kHostsMax)
    std::erase_if(hosts_, [](const auto& each) {
      const Host& host = *each.second;
      return host.busy_ + host.idle_.size() + host.waiting_ == 0;
    });
  if (hosts_.size() >= kHostsMax)
    return Error(ErrorKind::transient, "connections to too many hosts at once");
  auto made = std::make_shared<Host>(std::move(way));
  hosts_.emplace(key, made);
  return made;
}

void ConnectionPool::occupy(Host& host) {
  ++host.busy_;
  ++busy_;
}

// The place goes to the first waiter whom it helps.
void ConnectionPool::release(Host& host) {
  --host.busy_;
  --busy_;
  for (Waiter* waiter : waiting_) {
    if (waiter->granted || !has_room(*waiter->host, waiter->limits)) continue;
    occupy(*waiter->host);
    waiter->granted = true;
    waiter->alarm->ring();
    return;
  }
}

std::optional<ConnectionPool::Lease> ConnectionPool::try_lease(const std::shared_ptr<Host>& host,
                                                               Limits limits) {
  if (host->waiting_ > 0 || !has_room(*host, limits)) return std::nullopt;
  occupy(*host);
  return Lease(shared_from_this(), host);
}

async<Result<ConnectionPool::Lease>> ConnectionPool::wait(std::shared_ptr<Host> host, Limits limits,
                                                          milliseconds timeout) {
  // In line also when the coroutine is destroyed on its way.
  struct InLine {
    ConnectionPool& pool;
    Waiter& waiter;
    std::list<Waiter*>::iterator at;
    InLine(ConnectionPool& p, Waiter& w)
        : pool(p), waiter(w), at(p.waiting_.insert(p.waiting_.end(), &w)) {
      ++waiter.host->waiting_;
    }
    InLine(const InLine&) = delete;
    InLine& operator=(const InLine&) = delete;
    ~InLine() {
      pool.waiting_.erase(at);
      --waiter.host->waiting_;
      if (waiter.granted) pool.release(*waiter.host);  // granted and never taken
    }
  };
  const std::shared_ptr<ConnectionPool> self = shared_from_this();
  Waiter waiter{host, limits, clock_.make_alarm()};
  const InLine in_line(*self, waiter);
  co_await waiter.alarm->wait(timeout);
  if (!waiter.granted)
    co_return Error(ErrorKind::timeout,
                    "no free connection to " + host->way.target.host + " in time",
                    "raise connectionsPerRoute or maxTotalConnections, or let fewer exchanges run "
                    "at once");
  waiter.granted = false;  // it is the lease's now
  co_return Lease(self, host);
}

std::unique_ptr<Connection> ConnectionPool::take(Host& host, Limits limits) {
  while (!host.idle_.empty()) {
    std::unique_ptr<Connection> connection = std::move(host.idle_.back().connection);
    host.idle_.pop_back();
    --idle_;
    if (!connection->stale()) return connection;
  }
  while (idle_ > 0 && busy_ + idle_ > limits.total) close_oldest_idle();
  return nullptr;
}

void ConnectionPool::give_back(const std::shared_ptr<Host>& host,
                               std::unique_ptr<Connection> connection, milliseconds idle_timeout) {
  Connection* const kept = connection.get();
  Host::Idle idle;
  idle.connection = std::move(connection);
  idle.since = ++returns_;
  host->idle_.push_back(std::move(idle));
  ++idle_;
  const std::weak_ptr<Host> weak_host = host;
  const std::weak_ptr<ConnectionPool> weak_pool = weak_from_this();
  kept->idle(idle_timeout, [weak_host, weak_pool, kept] {
    const std::shared_ptr<Host> owner = weak_host.lock();
    const std::shared_ptr<ConnectionPool> pool = weak_pool.lock();
    if (!owner || !pool) return;
    pool->idle_ -= std::erase_if(owner->idle_,
                                 [&](const auto& each) { return each.connection.get() == kept; });
  });
}

void ConnectionPool::close_oldest_idle() {
  Host* oldest = nullptr;
  for (auto& [key, host] : hosts_)
    if (!host->idle_.empty() &&
        (!oldest || host->idle_.front().since < oldest->idle_.front().since))
      oldest = host.get();
  DROM_ASSERT(oldest);  // only hosts without connections are forgotten
  oldest->idle_.erase(oldest->idle_.begin());
  --idle_;
}

void ConnectionPool::clear() {
  for (auto& [key, host] : hosts_) host->idle_.clear();
  idle_ = 0;
}

}  // namespace drom::http
