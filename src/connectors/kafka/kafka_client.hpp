// One librdkafka handle with its event queue, which wakes our shard through a descriptor: no thread
// of ours, no polling. librdkafka's own threads never call us, but for the check of certificates.
// Shard thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <memory>
#include <mutex>
#include <string>

#include "connectors/kafka/kafka_options.hpp"
#include "drom/base/error.hpp"
#include "rt/fd_watcher.hpp"

namespace drom::kafka {

struct EventCloser {
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
};
using EventPtr = std::unique_ptr<rd_kafka_event_t, EventCloser>;
struct ListCloser {
  void operator()(rd_kafka_topic_partition_list_t* list) const {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, ListCloser>;

// Checked settings, from which clients are made.
class ClientSettings {
 public:
  // Fails for what librdkafka does not know or take.
  static Result<ClientSettings> make(const std::string& uri, const Settings& settings);
  rd_kafka_conf_t* copy() const { return rd_kafka_conf_dup(conf_.get()); }

 private:
  std::shared_ptr<rd_kafka_conf_t> conf_;  // not changed any more
};

class Client {
 public:
  // Does not connect yet. An error is of kind config: files that cannot be read, libraries that
  // lack a mechanism. `extra` is set on top.
  static Result<std::unique_ptr<Client>> make(rd_kafka_type_t type, const std::string& uri,
                                              const ClientSettings& settings, const Settings& extra,
                                              int events, boost::asio::io_context& io);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  rd_kafka_t* get() const { return handle_; }
  rd_kafka_queue_t* queue() const { return queue_; }
  // The next event that is there; null: none. The whole queue must be read before wait().
  EventPtr next();
  // Until events may be there, or interrupt(), or `timeout` of real time. One waiter.
  async<> wait(milliseconds timeout);
  void interrupt() { watcher_.interrupt(); }
  // An error event in our words; why a certificate was refused is part of it.
  Error trouble(rd_kafka_event_t* event) const;
  Error trouble(rd_kafka_resp_err_t code, std::string_view text) const;
  // A broker answers: what was wrong with certificates is over.
  void connected();
  // Destroys the handle on a thread of its own, for it joins librdkafka's. Every message must be
  // gone, a consumer closed.
  async<> destroy();

 private:
  Client(std::string uri, boost::asio::io_context& io)
      : uri_(std::move(uri)), io_(io), watcher_(io) {}
  static int on_certificate(rd_kafka_t* handle, const char* broker, int32_t id, int* error,
                            int depth, const char* data, size_t size, char* text, size_t text_size,
                            void* self);

  std::string uri_;
  boost::asio::io_context& io_;
  FdWatcher watcher_;
  int fd_ = -1;
  rd_kafka_t* handle_ = nullptr;
  rd_kafka_queue_t* queue_ = nullptr;
  mutable std::mutex mutex_;  // of refused_, which librdkafka's threads write
  std::string refused_;       // why a certificate was not accepted
};

}  // namespace drom::kafka
