// What a PostgreSQL data source, its transactions, its listener and its notifier share: the pool of
// connections and the hints. Kept alive by every call that waits. Shard thread only.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "drom/sql/database.hpp"
#include "rt/lane.hpp"
#include "rt/real_clock.hpp"
#include "rt/wait_list.hpp"
#include "sql/postgres/pg_connection.hpp"
#include "sql/replication.hpp"
#include "sql/turnstile.hpp"
#include "sql/wait_hub.hpp"

namespace drom::sql {

struct PgCore {
  PgCore(PostgresOptions o, boost::asio::io_context& context, Clock& c, Log& l)
      : options(std::move(o)),
        io(context),
        clock(c),
        log(l),
        real_clock(make_real_clock(context)),
        places(options.pool_size),
        dial_lane(context, "pg-dial"),
        listener_pause(real_clock->make_alarm()) {}

  PostgresOptions options;
  boost::asio::io_context& io;
  Clock& clock;  // of the routes: steers only the waits for hints
  Log& log;
  std::unique_ptr<Clock> real_clock;  // of sockets and of the pool
  Turnstile places;
  Lane dial_lane;
  std::vector<std::unique_ptr<PgConnection>> idle;  // the last used one at the back
  bool opened = false;

  WaitHub hints;
  // LISTEN: what pollers of this process wait for.
  std::set<std::string, std::less<>> channels;
  bool listening = false;            // listen() runs
  PgConnection* listener = nullptr;  // while it is connected
  std::unique_ptr<Alarm> listener_pause;
  // NOTIFY: what is still to be told to other processes.
  std::set<std::string, std::less<>> to_notify;
  bool notifying = false;  // notify() runs
  WaitList background_ended;
};

// A connection out of the pool. Goes back when it is clean, else it is closed: the server then
// rolls back by itself.
class PgLease {
 public:
  PgLease() = default;
  PgLease(std::shared_ptr<PgCore> core, Turnstile::Permit place,
          std::unique_ptr<PgConnection> connection)
      : core_(std::move(core)), place_(std::move(place)), connection_(std::move(connection)) {}
  PgLease(PgLease&&) = default;
  PgLease& operator=(PgLease&& other) noexcept;
  ~PgLease() { give_back(); }

  explicit operator bool() const { return connection_ != nullptr; }
  PgConnection& operator*() const { return *connection_; }
  PgConnection* operator->() const { return connection_.get(); }
  void give_back();

 private:
  std::shared_ptr<PgCore> core_;
  Turnstile::Permit place_;
  std::unique_ptr<PgConnection> connection_;
};

async<Result<PgLease>> acquire(std::shared_ptr<PgCore> core);

std::unique_ptr<Transaction> make_pg_transaction(std::shared_ptr<PgCore> core);

// Makes sure that notifications of `channel` are listened to.
void listen_to(const std::shared_ptr<PgCore>& core, const std::string& channel);
// Tells the other processes, soon and at most some hundred times a second.
void notify_soon(const std::shared_ptr<PgCore>& core, std::string_view channel);
// Ends both kinds of background work.
async<> stop_background(std::shared_ptr<PgCore> core);
void wake_listener(PgCore& core);

// A session of its own, outside of the pool.
async<Result<std::unique_ptr<ReplicationStream>>> pg_replicate(std::shared_ptr<PgCore> core);

Error pg_closed(const PostgresOptions& options);

}  // namespace drom::sql
