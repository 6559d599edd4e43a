// The database under test, as the campaign sees it: by its own client library, never by way of the
// engine. Schema, transactions of the direct writer, and the final truth.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chaos/history.hpp"

namespace drom::chaos {

// In the names of transactions that no engine has written, and in those only.
constexpr const char* kDirect = "-direct-";

struct NewEvent {
  std::string event;
  std::string key;
  std::string pad;
  bool poison = false;
};

struct NewTransaction {
  std::string tx;
  std::vector<NewEvent> events;  // sorted by key, else two writers could wait for each other
  bool roll_back = false;
};

// The payload of an event, JSON; what the sink takes apart.
std::string payload(const NewTransaction& transaction, const NewEvent& event);

struct Progress {
  bool known = false;
  int64_t due = 0;
  int64_t sent = 0;
  int64_t effects = 0;
};

// What the database says in the end.
struct FinalState {
  std::vector<Truth> events;  // rows of the outbox
  std::vector<Truth> sends;   // sends that were kept, one per transaction through an engine
  std::vector<Effect> effects;
};

// One connection. Used by one thread.
class Store {
 public:
  virtual ~Store() = default;
  virtual Intent::Outcome write(const NewTransaction& transaction) = 0;
  virtual Progress progress() = 0;
  // Throws std::runtime_error when the database does not answer.
  virtual void create_schema() = 0;
  virtual FinalState read() = 0;
};

// Seven columns -> what became of an event: tx, event, key, seq, hash, poison, status.
Truth truth_of(const std::vector<std::string>& row);
// These columns of the sends that transactions of engines have kept in the table outbox_sends.
// `apart` ends the subquery of them, where the database would else look into each payload once for
// each row that it joins them with.
std::string kept_sends_query(const std::string& event_of_payload, const std::string& key,
                             const std::string& apart = "");

std::unique_ptr<Store> open_sqlite(const std::string& file);
std::unique_ptr<Store> open_postgres(const std::string& conninfo, const std::string& mode);
// Ends up to `count` sessions of engines. False when the server does not answer.
bool terminate_backends(const std::string& conninfo, int count);

#ifdef DROM_MYSQL
std::unique_ptr<Store> open_mariadb(uint16_t port);
// The same as terminate_backends().
bool kill_sessions(uint16_t port, int count);
#endif

}  // namespace drom::chaos
