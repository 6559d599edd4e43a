// One session with a PostgreSQL server over libpq, non-blocking and always in pipeline mode: a trip
// sends any number of statements at once and reads all answers. Owned by a pool place or by the
// listener; one call at a time. Shard thread only.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"
#include "rt/fd_watcher.hpp"
#include "sql/postgres/pg_values.hpp"
#include "sql/statement_cache.hpp"

namespace drom {
class Lane;
}

namespace drom::sql {

struct PostgresOptions {
  std::string name;                                           // the bean's
  std::string url;                                            // URI or conninfo; may be empty
  std::vector<std::pair<std::string, std::string>> keywords;  // libpq's, win over the url
  std::string password;  // as given in either, to mask it in texts
  size_t pool_size = 10;
  milliseconds acquire_timeout{10000};
  milliseconds connect_timeout{10000};
  milliseconds statement_timeout{60000};
  size_t statements_max = 256;
  std::string init;      // a script run at open; may be empty
  std::string instance;  // tells our own notifications from those of others
};

struct PgCloser {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using PgHandle = std::unique_ptr<PGconn, PgCloser>;
struct PgClearer {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PgAnswer = std::unique_ptr<PGresult, PgClearer>;

// A new session, non-blocking, its socket assigned to `watcher`, which must forget it first. Name
// resolution blocks, so it happens on `lane`. `real_clock` measures the connect deadline.
async<Result<PgHandle>> pg_dial(const PostgresOptions& options, FdWatcher& watcher, Lane& lane,
                                Clock& real_clock);

// What one trip does. All its statements are prepared before the first one runs, so a statement
// cannot use a table that an earlier one of the same trip creates.
struct PgTrip {
  std::vector<Command> commands;
  bool begin = false;
  bool commit = false;

  PgTrip(std::vector<Command> c, bool b, bool e) : commands(std::move(c)), begin(b), commit(e) {}
};

struct PgNotification {
  std::string channel;
  std::string payload;
};

class PgConnection {
 public:
  static async<Result<std::unique_ptr<PgConnection>>> connect(const PostgresOptions& options,
                                                              boost::asio::io_context& io,
                                                              Lane& lane, Clock& real_clock,
                                                              Log& log);
  ~PgConnection();
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  // An error of kind not_connected or timeout leaves open what the server has done. After any error
  // look at reusable().
  async<Result<std::vector<Rows>>> run(const PgTrip& trip);
  async<Result<void>> script(const std::string& text);
  async<Result<void>> roll_back();

  // Returns what has arrived, at the latest after `timeout`, or when interrupt() was called.
  async<Result<std::vector<PgNotification>>> notifications(milliseconds timeout);
  void interrupt();

  // No answer is outstanding, no transaction open, the session alive as far as we know.
  bool reusable() const;
  // In a transaction, failed or not.
  bool in_transaction() const;
  // Asks the socket, without waiting, whether the server has hung up. For a session at rest.
  bool still_there();

 private:
  using Answer = PgAnswer;
  struct Prepared {
    std::string name;
    std::vector<Oid> types;  // of the parameters, as the server has inferred them
  };
  struct Answers {
    std::vector<Answer> list;
  };

  PgConnection(const PostgresOptions& options, boost::asio::io_context& io, Log& log)
      : options_(options), log_(log), watcher_(io), statements_(options.statements_max) {}
  static void on_notice(void* self, const PGresult* notice);

  async<Result<void>> dial(Lane& lane, Clock& real_clock);
  async<Result<void>> set_up();
  async<Result<void>> prepare(const std::vector<Command>& commands);
  Result<void> check(const std::vector<Command>& commands);
  bool send(const PgTrip& trip);
  bool send_text(const char* sql) {
    return PQsendQueryParams(handle_.get(), sql, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  }
  async<Result<void>> collect(Answers& answers, milliseconds patience);
  async<Result<void>> fill(milliseconds patience);
  milliseconds patience(size_t statements) const;
  Result<std::vector<Rows>> read(const PgTrip& trip, const Answers& answers);
  Error failure(const PGresult* answer);
  Error lost();

  const PostgresOptions& options_;  // the pool's
  Log& log_;
  FdWatcher watcher_;  // forgets the socket before handle_ closes it
  PgHandle handle_;
  StatementCache<Prepared> statements_;
  std::vector<std::string> unwanted_;  // names of prepared statements that may go
  uint64_t next_name_ = 0;
  bool busy_ = false;  // a call has begun and not ended well; a cancelled one leaves it so
  // Scratch of send().
  std::vector<PgParam> params_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace drom::sql
