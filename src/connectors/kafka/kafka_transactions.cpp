#include "connectors/kafka/kafka_transactions.hpp"

#include "connectors/kafka/kafka_error.hpp"

namespace drom::kafka {
namespace {

constexpr int kCallMs = 30'000;
constexpr int kTries = 4;  // of a call that may be repeated
constexpr size_t kClientsMax = 64;
constexpr milliseconds kFlush{30'000};

struct Failure {
  Error error;
  bool fatal = false;
  bool abortable = false;
  bool retriable = false;
};

std::unique_ptr<Failure> failure(const std::string& uri, rd_kafka_error_t* error) {
  if (!error) return nullptr;
  auto out = std::make_unique<Failure>();
  out->fatal = rd_kafka_error_is_fatal(error) == 1;
  out->abortable = rd_kafka_error_txn_requires_abort(error) == 1;
  out->retriable = rd_kafka_error_is_retriable(error) == 1;
  out->error = take_error(uri, error);
  return out;
}

// Repeats a call of librdkafka while it says that this makes sense. Any thread.
template <class Call>
std::unique_ptr<Failure> insist(const std::string& uri, Call call) {
  std::unique_ptr<Failure> out;
  for (int i = 0; i < kTries; ++i) {
    out = failure(uri, call());
    if (!out || !out->retriable) break;
  }
  return out;
}

}  // namespace

TransactionalClient::TransactionalClient(const Services& services, const std::string& uri,
                                         ClientSettings settings, const std::string& id)
    : s_(services),
      sender_(services, uri, std::move(settings), {{"transactional.id", id}}),
      lane_(services.io, "kafka-tx"),
      id_(id) {}

async<Result<void>> TransactionalClient::initialise() {
  if (sender_.is_open() && sender_.broken()) {
    s_.log.warn(sender_.uri(), "the producer with the transactional id " + id_ +
                                   " is made anew; is another process running with the same "
                                   "transactionalIdPrefix?");
    co_await sender_.close(milliseconds(0));
    initialised_ = false;
  }
  Result<void> opened = sender_.open();
  if (!opened) co_return opened;
  if (initialised_) co_return Result<void>();
  rd_kafka_t* const handle = sender_.handle();
  auto work = [handle, uri = sender_.uri()] {
    return insist(uri, [handle] { return rd_kafka_init_transactions(handle, kCallMs); });
  };
  const std::unique_ptr<Failure> failed = co_await lane_.call(work);
  if (failed) {
    sender_.mark_broken();
    co_return failed->error;
  }
  initialised_ = true;
  co_return Result<void>();
}

async<Result<void>> TransactionalClient::begin() {
  Result<void> ready = co_await initialise();
  if (!ready) co_return ready;
  rd_kafka_t* const handle = sender_.handle();
  auto work = [handle, uri = sender_.uri()] {
    return failure(uri, rd_kafka_begin_transaction(handle));
  };
  const std::unique_ptr<Failure> failed = co_await lane_.call(work);
  if (!failed) co_return Result<void>();
  sender_.mark_broken();
  co_return failed->error;
}

async<TransactionalClient::End> TransactionalClient::commit(Subscription* source,
                                                            PartitionList offsets) {
  rd_kafka_t* const handle = sender_.handle();
  rd_kafka_t* const reader = source ? source->handle() : nullptr;
  rd_kafka_topic_partition_list_t* const list = offsets.get();
  if (list) {
    auto send = [handle, reader, list, uri = sender_.uri()] {
      rd_kafka_consumer_group_metadata_t* group = rd_kafka_consumer_group_metadata(reader);
      auto out = insist(
          uri, [&] { return rd_kafka_send_offsets_to_transaction(handle, list, group, kCallMs); });
      rd_kafka_consumer_group_metadata_destroy(group);
      return out;
    };
    const std::unique_ptr<Failure> failed = co_await lane_.call(send);
    if (failed) {
      s_.log.warn(sender_.uri(), "a transaction is aborted: " + failed->error.message());
      if (failed->fatal) sender_.mark_broken();
      co_await abort();
      co_return End::aborted;
    }
  }
  auto work = [handle, uri = sender_.uri()] {
    return insist(uri, [handle] { return rd_kafka_commit_transaction(handle, kCallMs); });
  };
  const std::unique_ptr<Failure> failed = co_await lane_.call(work);
  if (!failed) co_return End::committed;
  s_.log.warn(sender_.uri(), "a transaction could not be committed: " + failed->error.message());
  if (failed->abortable) {
    co_await abort();
    co_return End::aborted;
  }
  // The broker may have got the commit. The client that follows ends what this one has begun.
  sender_.mark_broken();
  co_return End::unknown;
}

async<> TransactionalClient::abort() {
  if (sender_.broken()) co_return;  // the next client with this id aborts it
  rd_kafka_t* const handle = sender_.handle();
  auto work = [handle, uri = sender_.uri()] {
    return insist(uri, [handle] { return rd_kafka_abort_transaction(handle, kCallMs); });
  };
  const std::unique_ptr<Failure> failed = co_await lane_.call(work);
  if (failed) sender_.mark_broken();
}

async<> TransactionalClient::close() { co_await sender_.close(kFlush); }

uint64_t Transactions::give_ticket(Subscription& source, std::vector<uint64_t> handles) {
  Ticket ticket;
  ticket.source = &source;
  ticket.handles = std::move(handles);
  tickets_.emplace(++next_, std::move(ticket));
  return next_;
}

Transactions::Ticket* Transactions::ticket_of(const Exchange& exchange) {
  const Value* named = exchange.properties.find(kTicket);
  const int64_t* number = named ? named->as_int() : nullptr;
  if (!number) return nullptr;
  const auto at = tickets_.find(static_cast<uint64_t>(*number));
  return at == tickets_.end() ? nullptr : &at->second;
}

async<Result<TransactionalClient*>> Transactions::begin(const Options& target,
                                                        const ClientSettings& settings) {
  std::string prefix = target.transaction_prefix;
  Pool& pool = pools_[prefix];
  while (pool.free.empty() && pool.all.size() >= kClientsMax)
    co_await freed_.wait(s_.clock, milliseconds::max());
  if (pool.free.empty()) {
    const std::string id = prefix + "-" + std::to_string(pool.all.size());
    pool.all.push_back(
        std::make_unique<TransactionalClient>(s_, "kafka:(" + id + ")", settings, id));
    pool.free.push_back(pool.all.back().get());
  }
  TransactionalClient* const client = pool.free.back();
  pool.free.pop_back();
  Result<void> begun = co_await client->begin();
  if (begun) co_return client;
  give_back(prefix, client);
  co_return begun.error();
}

void Transactions::give_back(const std::string& prefix, TransactionalClient* client) {
  pools_[prefix].free.push_back(client);
  freed_.ring_one();
}

async<> Transactions::send(Exchange& exchange, const Options& target,
                           const ClientSettings& settings, const Scope& scope) {
  Ticket* ticket = ticket_of(exchange);
  if (!ticket) {
    co_await send_alone(exchange, target, settings, scope);
    co_return;
  }
  if (ticket->failed || (ticket->client && ticket->prefix != target.transaction_prefix)) {
    exchange.fail(
        ticket->failed
            ? Error(ErrorKind::rejected, target.uri + ": the transaction was aborted before",
                    "what was sent in it is gone; the record will be worked on again as a whole")
            : Error(ErrorKind::rejected,
                    target.uri + ": two transactions for one record cannot end together",
                    "use one transactionalIdPrefix in a route"));
    exchange.error_exhausted = true;
    co_return;
  }
  if (!ticket->client) {
    Result<TransactionalClient*> begun = co_await begin(target, settings);
    if (!begun) {
      exchange.fail(std::move(begun.error()));
      co_return;
    }
    ticket->client = *begun;
    ticket->prefix = target.transaction_prefix;
  }
  Batch one;
  one.push_back(std::move(exchange));
  co_await ticket->client->sender().send(one, target, scope);
  exchange = std::move(one.front());
  if (!exchange.failed() || !ticket->client) co_return;
  ticket->failed = true;
  TransactionalClient* const client = std::exchange(ticket->client, nullptr);
  const std::string prefix = ticket->prefix;
  co_await client->abort();
  give_back(prefix, client);
}

// A message from elsewhere: its records are one transaction.
async<> Transactions::send_alone(Exchange& exchange, const Options& target,
                                 const ClientSettings& settings, const Scope& scope) {
  Result<TransactionalClient*> begun = co_await begin(target, settings);
  if (!begun) {
    exchange.fail(std::move(begun.error()));
    co_return;
  }
  TransactionalClient* const client = *begun;
  Batch one;
  one.push_back(std::move(exchange));
  co_await client->sender().send(one, target, scope);
  exchange = std::move(one.front());
  if (exchange.failed()) {
    co_await client->abort();
  } else {
    const TransactionalClient::End end = co_await client->commit(nullptr, nullptr);
    if (end != TransactionalClient::End::committed)
      exchange.fail(
          Error(ErrorKind::transient, target.uri + ": the transaction was not committed"));
  }
  give_back(target.transaction_prefix, client);
}

async<Transactions::Verdict> Transactions::settle(uint64_t number, bool done) {
  auto node = tickets_.extract(number);
  const Verdict plain = done ? Verdict::done : Verdict::undone;
  if (node.empty()) co_return plain;
  Ticket& ticket = node.mapped();
  TransactionalClient* const client = ticket.client;
  if (!client) co_return plain;
  Subscription& source = *ticket.source;
  if (!done) {
    co_await client->abort();
    give_back(ticket.prefix, client);
    co_return Verdict::undone;
  }
  co_await source.hold_commits();
  const auto commits = source.window().commits_with(ticket.handles);
  TransactionalClient::End end = TransactionalClient::End::aborted;
  if (commits) {
    PartitionList offsets = source.offsets_of(*commits);
    end = co_await client->commit(&source, std::move(offsets));
  } else {
    co_await client->abort();
  }
  give_back(ticket.prefix, client);
  const bool committed = end == TransactionalClient::End::committed;
  if (committed) source.committed_by_transaction(ticket.handles, *commits);
  if (end == TransactionalClient::End::unknown) source.read_again();
  source.release_commits();
  co_return committed ? Verdict::committed : Verdict::undone;
}

async<> Transactions::close() {
  for (auto& [prefix, pool] : pools_)
    for (const auto& client : pool.all) co_await client->close();
  pools_.clear();
}

}  // namespace drom::kafka
