// Keeps the inbox from growing for ever: deletes keys older than the retention, a bounded number at
// a time, with pauses, so that those who insert keep their pace. Any number of processes may do so
// at once. Shard thread.
#pragma once

#include <memory>
#include <string>

#include "drom/rt/clock.hpp"
#include "drom/rt/log.hpp"
#include "drom/sql/database.hpp"

namespace drom {

class InboxJanitor {
 public:
  InboxJanitor(sql::Database& database, Clock& clock, Log& log, std::string table,
               milliseconds retention);
  // Until stop().
  async<> run();
  void stop();
  // One round: true when there may be more to delete.
  async<Result<bool>> purge();

 private:
  sql::Database& database_;
  Clock& clock_;
  Log& log_;
  std::string table_;
  milliseconds retention_;
  std::unique_ptr<Alarm> stopped_;
  bool stopping_ = false;
};

}  // namespace drom
