// Sends exchanges through one librdkafka producer and waits for the delivery reports. Calls issue
// their records in call order, also when one has to wait for room. Shared by the endpoints of a
// transactional client; otherwise owned by one producer. Shard thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connectors/kafka/kafka_client.hpp"
#include "connectors/kafka/kafka_options.hpp"
#include "drom/spi/scope.hpp"
#include "rt/task_group.hpp"
#include "rt/wait_list.hpp"

namespace drom::kafka {

struct Services {
  boost::asio::io_context& io;
  Clock& clock;
  Log& log;
  Rng& rng;
};

class Sender {
 public:
  Sender(const Services& services, std::string uri, ClientSettings settings, Settings extra);
  ~Sender();

  // Makes the client; does not wait for a connection.
  Result<void> open();
  bool is_open() const { return client_ != nullptr; }
  // Each exchange of the batch fails or succeeds by its own reports. A list is a record each.
  async<> send(Batch& batch, const Options& target, const Scope& scope);
  // Waits for what is under way, at most `limit`; then gives it up.
  async<> close(milliseconds limit);
  // The client can do no more (fatal error, fenced): close it and open another one.
  bool broken() const { return broken_; }
  void mark_broken() { broken_ = true; }
  rd_kafka_t* handle() const { return client_->get(); }
  const std::string& uri() const { return uri_; }

 private:
  struct Flight;
  struct Part;
  enum class Issued : uint8_t { yes, full, no };

  async<> issue(Flight& flight, size_t index, Exchange& exchange, const Options& target,
                const Scope& scope);
  async<> put(Part& part, const Exchange& exchange, const Value& body, const Options& target,
              std::string key, bool has_key, int32_t partition);
  Issued try_put(Part& part, rd_kafka_vu_t* fields, size_t count);
  rd_kafka_topic_t* topic(const std::string& name);
  async<> pump();
  void handle_event(rd_kafka_event_t* event);
  void delivered(const rd_kafka_message_t& record);
  void on_trouble(rd_kafka_event_t* event);
  void finish(Part& part);

  Services s_;
  std::string uri_;
  ClientSettings settings_;
  Settings extra_;
  std::unique_ptr<Client> client_;
  std::map<std::string, rd_kafka_topic_t*, std::less<>> topics_;
  std::list<const Flight*> line_;  // calls that issue, in order; the first one has its turn
  WaitList turn_;                  // the first of the line has gone
  WaitList space_;                 // reports came: there may be room
  std::vector<std::unique_ptr<Alarm>> alarms_;  // to be used again
  size_t outstanding_ = 0;                      // records without a report
  bool worked_ = false;                         // a broker has acknowledged something
  bool broken_ = false;
  bool closing_ = false;
  std::unique_ptr<Error> trouble_;  // the last one, to explain time-outs
  WaitList idle_;                   // nothing is outstanding
  TaskGroup tasks_;                 // last: its coroutine uses the members above
};

}  // namespace drom::kafka
