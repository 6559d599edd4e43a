// Kafka transactions: what a route reads and what it sends become visible together. A consumer
// gives every exchange (or batch) a ticket; a producer with transactionalIdPrefix begins the
// transaction of the ticket at its first send, all further sends of the exchange join it, and when
// the consumer settles the exchange the offsets are sent to the transaction and it is committed, or
// it is aborted. One client, and so one transactional id, serves one ticket at a time. Shared by
// all endpoints of an engine; shard thread, with librdkafka's blocking calls on a lane.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/kafka/kafka_sender.hpp"
#include "connectors/kafka/kafka_subscription.hpp"
#include "rt/lane.hpp"

namespace drom::kafka {

// Names the ticket in the properties of an exchange.
inline constexpr const char* kTicket = "drom.kafka.ticket";

class TransactionalClient {
 public:
  TransactionalClient(const Services& services, const std::string& uri, ClientSettings settings,
                      const std::string& id);

  // Opens the client (again, when it was fenced) and begins a transaction.
  async<Result<void>> begin();
  Sender& sender() { return sender_; }
  // What became of the commit. `unknown`: the group's offsets will tell.
  enum class End : uint8_t { committed, aborted, unknown };
  // `source` may be null: a transaction without offsets.
  async<End> commit(Subscription* source, PartitionList offsets);
  async<> abort();
  async<> close();

 private:
  async<Result<void>> initialise();
  Services s_;
  Sender sender_;
  Lane lane_;
  std::string id_;
  bool initialised_ = false;
};

class Transactions {
 public:
  explicit Transactions(const Services& services) : s_(services) {}

  // Some endpoint sends transactionally: sources give out tickets.
  void want() { wanted_ = true; }
  bool wanted() const { return wanted_; }

  uint64_t give_ticket(Subscription& source, std::vector<uint64_t> handles);
  // The exchange of the ticket has ended. `committed`: in its transaction, the window knows.
  // `done`: it had no transaction. `undone`: it must be worked on again.
  enum class Verdict : uint8_t { done, committed, undone };
  async<Verdict> settle(uint64_t ticket, bool done);

  // Sends within the transaction of the exchange's ticket, or in one of its own. A failure aborts
  // the transaction; later sends of the ticket fail too.
  async<> send(Exchange& exchange, const Options& target, const ClientSettings& settings,
               const Scope& scope);
  async<> close();

 private:
  struct Ticket {
    Subscription* source = nullptr;
    std::vector<uint64_t> handles;
    std::string prefix;
    TransactionalClient* client = nullptr;  // its transaction is open
    bool failed = false;
  };
  struct Pool {
    std::vector<std::unique_ptr<TransactionalClient>> all;
    std::vector<TransactionalClient*> free;
  };

  async<Result<TransactionalClient*>> begin(const Options& target, const ClientSettings& settings);
  async<> send_alone(Exchange& exchange, const Options& target, const ClientSettings& settings,
                     const Scope& scope);
  Ticket* ticket_of(const Exchange& exchange);
  void give_back(const std::string& prefix, TransactionalClient* client);

  Services s_;
  bool wanted_ = false;
  uint64_t next_ = 0;
  std::map<uint64_t, Ticket> tickets_;  // of exchanges on their way
  std::map<std::string, Pool> pools_;   // by prefix
  WaitList freed_;
};

}  // namespace drom::kafka
