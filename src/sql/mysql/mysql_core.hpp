// What a MySQL data source and its transactions share: the pool of lanes with their sessions, and
// the hints. Kept alive by every call that waits. Shard thread only, except what run_trip() and its
// kin do on a lane.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "rt/lane.hpp"
#include "rt/real_clock.hpp"
#include "sql/mysql/mysql_connection.hpp"
#include "sql/turnstile.hpp"
#include "sql/wait_hub.hpp"

namespace drom::sql {

// A session and the lane that it lives on.
struct MysqlWorker {
  std::unique_ptr<MysqlConnection> connection;  // touched on the lane only; null: to be opened
  Lane lane;                                    // joins before the connection goes

  MysqlWorker(boost::asio::io_context& io, std::string name) : lane(io, std::move(name)) {}
  ~MysqlWorker() {
    lane.push([this] { connection.reset(); });
  }
};

struct MysqlCore {
  MysqlCore(MysqlOptions o, boost::asio::io_context& context, Clock& c, Log& l)
      : options(std::move(o)),
        io(context),
        clock(c),
        log(l),
        real_clock(make_real_clock(context)),
        places(options.pool_size) {}

  MysqlOptions options;
  boost::asio::io_context& io;
  Clock& clock;  // of the routes: steers only the waits for hints
  Log& log;
  std::unique_ptr<Clock> real_clock;
  Turnstile places;
  std::vector<std::unique_ptr<MysqlWorker>> idle;  // the last used one at the back
  bool opened = false;
  WaitHub hints;
};

// A worker out of the pool. Whoever holds it leaves its session at rest, or calls abandon().
class MysqlLease {
 public:
  MysqlLease() = default;
  MysqlLease(std::shared_ptr<MysqlCore> core, Turnstile::Permit place,
             std::unique_ptr<MysqlWorker> worker)
      : core_(std::move(core)), place_(std::move(place)), worker_(std::move(worker)) {}
  MysqlLease(MysqlLease&&) = default;
  MysqlLease& operator=(MysqlLease&& other) noexcept;
  ~MysqlLease() { give_back(); }

  explicit operator bool() const { return worker_ != nullptr; }
  MysqlWorker& operator*() const { return *worker_; }
  void give_back();
  // Lets the lane roll back whatever is open, and gives back at once: the lane keeps its order.
  void abandon();

 private:
  std::shared_ptr<MysqlCore> core_;
  Turnstile::Permit place_;
  std::unique_ptr<MysqlWorker> worker_;
};

async<Result<MysqlLease>> acquire(std::shared_ptr<MysqlCore> core);

// What one trip to a lane does. After a failure the transaction is rolled back at once, so that
// nobody waits for a transaction that cannot succeed any more. `begin` or `alone` first makes sure
// that there is a session.
struct MysqlTrip {
  std::vector<Command> commands;
  bool begin = false;
  bool commit = false;
  bool alone = false;  // one statement outside any transaction

  MysqlTrip(std::vector<Command> c, bool b, bool e) : commands(std::move(c)), begin(b), commit(e) {}
  explicit MysqlTrip(Command command) : alone(true) { commands.push_back(std::move(command)); }
};
Result<std::vector<Rows>> run_trip(MysqlWorker& worker, const MysqlOptions& options,
                                   const MysqlTrip& trip);
Result<void> run_script(MysqlWorker& worker, const MysqlOptions& options, const std::string& text);
// Opens a session, or finds that there is one.
Result<void> make_ready(MysqlWorker& worker, const MysqlOptions& options);

Error mysql_closed(const MysqlOptions& options);

std::unique_ptr<Transaction> make_mysql_transaction(std::shared_ptr<MysqlCore> core);

}  // namespace drom::sql
