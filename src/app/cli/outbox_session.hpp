// What the verbs of `drom outbox` share: which table, in which database, and how a call fails.
#pragma once

#include <memory>
#include <string>

#include "app/cli/common.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "drom/sql/database.hpp"

namespace drom::cli {

// Which outbox: exactly one of name, table and uri.
struct OutboxPlace {
  std::string url;
  std::string name;
  std::string table;
  std::string uri;  // of an endpoint, for its format and columns
  std::string mode = "claim";
};

struct OutboxTarget {
  outbox::TableShape shape;
  outbox::SentPolicy sent = outbox::SentPolicy::mark;
  outbox::Mode mode = outbox::Mode::claim;
  outbox::CdcOptions cdc;
};

int complain(const Error& error);
sql::Dialect dialect_of(const std::string& url);
Result<OutboxTarget> outbox_target(const OutboxPlace& place);

// An engine without routes: it owns the connection and the clock, as it does for routes.
class OutboxSession {
 public:
  // The file of an SQLite database must exist, unless `create`. Null: the error has been printed.
  static std::unique_ptr<OutboxSession> open(const std::string& url, bool create, int& exit_code);
  OutboxSession();

  template <class T>
  Result<T> run(async<Result<T>> work) {
    Result<T> out = Error(ErrorKind::bug, "the command did not end");
    app_.engine().run_now(store(std::move(work), out));
    return out;
  }
  void sleep(milliseconds duration) { app_.engine().run_now(clock().sleep(duration)); }
  sql::Database& database() { return *app_.registry().find<sql::Database>("db"); }
  Clock& clock() { return app_.engine().clock(); }
  WallTime now() { return clock().wall(); }

 private:
  template <class T>
  static async<> store(async<Result<T>> work, Result<T>& out) {
    Result<T> value = co_await std::move(work);
    out = std::move(value);
  }
  App app_;
};

}  // namespace drom::cli
