// Connections by host, with a limit per host and one for all hosts together. Whoever finds no place
// waits in turn, for a bounded time. Shard thread only.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connectors/http/connection.hpp"

namespace drom::http {

class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
 public:
  struct Limits {
    size_t per_host = 20;
    size_t total = 200;
  };

  // One target with one set of certificates, reached in one way.
  struct Host {
    explicit Host(Way w) : way(std::move(w)) {}
    Way way;
    // Why it cannot work, and until when nobody tries again: a wrong certificate is not asked for
    // once per message.
    std::optional<Error> refusal;
    SteadyTime refused_until{};

   private:
    friend class ConnectionPool;
    struct Idle {
      std::unique_ptr<Connection> connection;
      uint64_t since = 0;  // counts, so that the oldest of all hosts can be found
    };
    std::vector<Idle> idle_;  // the most recently used at the end
    size_t busy_ = 0;
    size_t waiting_ = 0;
  };

  // A place among the connections, given back by the destructor.
  class Lease {
   public:
    Lease(std::shared_ptr<ConnectionPool> pool, std::shared_ptr<Host> host)
        : pool_(std::move(pool)), host_(std::move(host)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_) pool_->release(*host_);
    }

   private:
    std::shared_ptr<ConnectionPool> pool_;
    std::shared_ptr<Host> host_;
  };

  explicit ConnectionPool(Clock& clock) : clock_(clock) {}

  // Null: not there yet.
  std::shared_ptr<Host> find(const std::string& key) const;
  // Error: too many hosts at once.
  Result<std::shared_ptr<Host>> add(const std::string& key, Way way);

  // A place at once, if there is one and nobody waits for it.
  std::optional<Lease> try_lease(const std::shared_ptr<Host>& host, Limits limits);
  // Errors: timeout.
  async<Result<Lease>> wait(std::shared_ptr<Host> host, Limits limits, milliseconds timeout);

  // A live idle connection, or null: then the caller may open one, for which room is made here.
  std::unique_ptr<Connection> take(Host& host, Limits limits);
  void give_back(const std::shared_ptr<Host>& host, std::unique_ptr<Connection> connection,
                 milliseconds idle_timeout);

  // Closes what is idle.
  void clear();
  size_t busy() const { return busy_; }

 private:
  struct Waiter {
    std::shared_ptr<Host> host;
    Limits limits;
    std::unique_ptr<Alarm> alarm;
    bool granted = false;
  };

  bool has_room(const Host& host, Limits limits) const {
    return host.busy_ < limits.per_host && busy_ < limits.total;
  }
  void occupy(Host& host);
  void release(Host& host);
  void close_oldest_idle();

  Clock& clock_;
  std::map<std::string, std::shared_ptr<Host>> hosts_;
  std::list<Waiter*> waiting_;
  size_t busy_ = 0;
  size_t idle_ = 0;
  uint64_t returns_ = 0;
};

}  // namespace drom::http
