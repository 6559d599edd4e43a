#include "connectors/kafka/kafka_sender.hpp"

#include "connectors/kafka/kafka_error.hpp"
#include "connectors/kafka/kafka_message.hpp"

namespace drom::kafka {
namespace {

constexpr milliseconds kRoomWait{1000};
constexpr milliseconds kEndWait{10'000};

}  // namespace

// One exchange on its way.
struct Sender::Part {
  Flight* flight = nullptr;
  size_t left = 0;  // records without a report
  std::unique_ptr<Error> error;
  // Of the last record.
  int32_t partition = -1;
  int64_t offset = -1;
  int64_t timestamp = -1;
  bool wants_metadata = false;
};

// One call of send(). Lives until the call has gone and every report has come.
struct Sender::Flight {
  std::vector<Part> parts;
  size_t outstanding = 0;
  Alarm* waiting = nullptr;
  bool abandoned = false;  // the call was cancelled
};

Sender::Sender(const Services& services, std::string uri, ClientSettings settings, Settings extra)
    : s_(services),
      uri_(std::move(uri)),
      settings_(std::move(settings)),
      extra_(std::move(extra)),
      tasks_(s_.io, s_.clock, s_.log) {}

Sender::~Sender() {
  for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
}

Result<void> Sender::open() {
  if (client_) return {};
  Result<std::unique_ptr<Client>> made = Client::make(
      RD_KAFKA_PRODUCER, uri_, settings_, extra_, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR, s_.io);
  if (!made) return made.error();
  client_ = std::move(*made);
  broken_ = closing_ = worked_ = false;
  trouble_.reset();
  tasks_.spawn(uri_, pump());
  return {};
}

async<> Sender::send(Batch& batch, const Options& target, const Scope& scope) {
  auto* flight = new Flight;
  // Gives the flight back to whoever is last: this call or the last report.
  struct Leave {
    Sender& sender;
    Flight* flight;
    ~Leave() {
      sender.line_.remove(flight);
      sender.turn_.ring_all();
      flight->waiting = nullptr;
      flight->abandoned = true;
      if (flight->outstanding == 0) delete flight;
    }
  };
  const Leave leave{*this, flight};
  flight->parts.resize(batch.size());
  line_.push_back(flight);
  while (line_.front() != flight) co_await turn_.wait(s_.clock, milliseconds::max());
  for (size_t i = 0; i < batch.size(); ++i) {
    flight->parts[i].flight = flight;
    flight->parts[i].wants_metadata = target.record_metadata;
    co_await issue(*flight, i, batch[i], target, scope);
  }
  line_.remove(flight);
  turn_.ring_all();
  if (flight->outstanding > 0) {
    if (alarms_.empty()) alarms_.push_back(s_.clock.make_alarm());
    std::unique_ptr<Alarm> alarm = std::move(alarms_.back());
    alarms_.pop_back();
    flight->waiting = alarm.get();
    // librdkafka reports every record, at the latest after messageTimeoutMs.
    while (flight->outstanding > 0) co_await alarm->wait(milliseconds::max());
    flight->waiting = nullptr;
    alarms_.push_back(std::move(alarm));
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    Part& part = flight->parts[i];
    if (part.error) {
      batch[i].fail(std::move(*part.error));
    } else if (part.wants_metadata && part.partition >= 0) {
      Headers& headers = batch[i].message.headers;
      headers.set("kafka.sent.topic", Value(target.topics.front()));
      headers.set("kafka.sent.partition", Value(int64_t{part.partition}));
      headers.set("kafka.sent.offset", Value(part.offset));
      headers.set("kafka.sent.timestamp", Value(part.timestamp));
    }
  }
}

async<> Sender::issue(Flight& flight, size_t index, Exchange& exchange, const Options& target,
                      const Scope& scope) {
  Part& part = flight.parts[index];
  const auto refuse = [&](Error error) { part.error = std::make_unique<Error>(std::move(error)); };
  if (!client_ || broken_) {
    refuse(Error(ErrorKind::not_connected, uri_ + ": the client has ended"));
    co_return;
  }
  std::string key;
  bool has_key = false;
  if (target.key) {
    Result<Value> value = target.key->evaluate(exchange, scope.eval());
    if (!value) {
      refuse(std::move(value.error()));
      co_return;
    }
    has_key = !value->is_null();
    key = value->to_text();
  }
  int32_t partition = target.fixed_partition.value_or(RD_KAFKA_PARTITION_UA);
  if (target.partition) {
    Result<Value> value = target.partition->evaluate(exchange, scope.eval());
    if (!value) {
      refuse(std::move(value.error()));
      co_return;
    }
    const auto number = value->to_int();
    if (!value->is_null() && (!number || *number < 0 || *number > INT32_MAX)) {
      refuse(Error(ErrorKind::data, uri_ + ": partitionKey gives '" + value->to_text() + "'",
                   "it must give a number from 0 on, or nothing"));
      co_return;
    }
    if (number) partition = static_cast<int32_t>(*number);
  }
  const List* list = exchange.message.body.as_list();
  if (!list) {
    co_await put(part, exchange, exchange.message.body, target, std::move(key), has_key, partition);
    co_return;
  }
  for (const Value& element : *list) {
    if (part.error) co_return;
    co_await put(part, exchange, element, target, key, has_key, partition);
  }
}

async<> Sender::put(Part& part, const Exchange& exchange, const Value& body, const Options& target,
                    std::string key, bool has_key, int32_t partition) {
  Outgoing out;
  set_value(out, body, target.empty_for_null);
  rd_kafka_vu_t fields[7] = {};
  fields[0].vtype = RD_KAFKA_VTYPE_RKT;
  fields[0].u.rkt = topic(target.topics.front());
  fields[1].vtype = RD_KAFKA_VTYPE_PARTITION;
  fields[1].u.i32 = partition;
  fields[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  fields[2].u.i = RD_KAFKA_MSG_F_COPY;
  fields[3].vtype = RD_KAFKA_VTYPE_OPAQUE;
  fields[3].u.ptr = &part;
  fields[4].vtype = RD_KAFKA_VTYPE_VALUE;
  // Only a null pointer is a tombstone.
  const char* data = out.value.data() ? out.value.data() : "";
  fields[4].u.mem.ptr = out.tombstone ? nullptr : const_cast<char*>(data);
  fields[4].u.mem.size = out.value.size();
  size_t count = 5;
  if (has_key) {
    fields[count].vtype = RD_KAFKA_VTYPE_KEY;
    fields[count].u.mem.ptr = const_cast<char*>(key.c_str());
    fields[count].u.mem.size = key.size();
    ++count;
  }
  rd_kafka_headers_t* headers = to_headers(exchange.message.headers);
  if (headers) {
    fields[count].vtype = RD_KAFKA_VTYPE_HEADERS;
    fields[count].u.headers = headers;
    ++count;
  }
  Issued issued = try_put(part, fields, count);
  while (issued == Issued::full) {
    co_await space_.wait(s_.clock, kRoomWait);
    issued = !client_ || broken_ ? Issued::no : try_put(part, fields, count);
    if (issued == Issued::no && !part.error)
      part.error = std::make_unique<Error>(ErrorKind::not_connected, uri_ + ": closed");
  }
  if (issued == Issued::no && headers) rd_kafka_headers_destroy(headers);
}

Sender::Issued Sender::try_put(Part& part, rd_kafka_vu_t* fields, size_t count) {
  rd_kafka_error_t* error = rd_kafka_produceva(client_->get(), fields, count);
  if (!error) {
    ++part.left;
    ++part.flight->outstanding;
    ++outstanding_;
    return Issued::yes;
  }
  if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
    rd_kafka_error_destroy(error);
    return Issued::full;
  }
  if (rd_kafka_error_is_fatal(error)) broken_ = true;
  part.error = std::make_unique<Error>(take_error(uri_, error));
  return Issued::no;
}

rd_kafka_topic_t* Sender::topic(const std::string& name) {
  rd_kafka_topic_t*& found = topics_[name];
  if (!found) found = rd_kafka_topic_new(client_->get(), name.c_str(), nullptr);
  return found;
}

async<> Sender::pump() {
  while (true) {
    while (const EventPtr event = client_->next()) handle_event(event.get());
    if (outstanding_ == 0) idle_.ring_all();
    if (closing_ && outstanding_ == 0) break;
    co_await client_->wait(milliseconds::max());
  }
}

void Sender::handle_event(rd_kafka_event_t* event) {
  switch (rd_kafka_event_type(event)) {
    case RD_KAFKA_EVENT_DR: {
      while (const rd_kafka_message_t* record = rd_kafka_event_message_next(event))
        delivered(*record);
      space_.ring_all();
      break;
    }
    case RD_KAFKA_EVENT_ERROR: on_trouble(event); break;
    default: break;
  }
}

void Sender::delivered(const rd_kafka_message_t& record) {
  Part& part = *static_cast<Part*>(record._private);
  if (record.err) {
    // Not rd_kafka_message_errstr(): of a record that was to be sent it returns the payload.
    Error error = kafka_error(uri_, record.err, rd_kafka_err2str(record.err));
    const bool unexplained = record.err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT ||
                             record.err == RD_KAFKA_RESP_ERR__PURGE_QUEUE ||
                             record.err == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
    if (unexplained && trouble_) {
      error.what += "; before that: " + trouble_->what;
      error.hint = trouble_->hint;
      if (trouble_->kind == ErrorKind::rejected) error.kind = trouble_->kind;
    }
    if (!part.error) part.error = std::make_unique<Error>(std::move(error));
  } else {
    if (!worked_) client_->connected();
    worked_ = true;
    trouble_.reset();
    if (part.wants_metadata) {
      rd_kafka_timestamp_type_t type;
      part.partition = record.partition;
      part.offset = record.offset;
      part.timestamp = rd_kafka_message_timestamp(&record, &type);
    }
  }
  finish(part);
}

void Sender::finish(Part& part) {
  --part.left;
  --outstanding_;
  Flight* const flight = part.flight;
  if (--flight->outstanding > 0) return;
  if (flight->waiting) {
    flight->waiting->ring();
  } else if (flight->abandoned) {
    delete flight;
  }
}

void Sender::on_trouble(rd_kafka_event_t* event) {
  const rd_kafka_resp_err_t code = rd_kafka_event_error(event);
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    char text[512] = {};
    const rd_kafka_resp_err_t cause = rd_kafka_fatal_error(client_->get(), text, sizeof text);
    s_.log.error(uri_, "the producer cannot go on and is made anew: " +
                           kafka_error(uri_, cause, text).message());
    broken_ = true;
    rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    return;
  }
  Error error = client_->trouble(event);
  // That all brokers are away says less than why the last one went.
  if (trouble_ && code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
  if (!trouble_) s_.log.warn(uri_, error.message());
  const bool refused = error.kind == ErrorKind::rejected;
  trouble_ = std::make_unique<Error>(std::move(error));
  // Waiting does not help against a wrong password; who sends shall know at once.
  if (refused && !worked_) rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE);
}

async<> Sender::close(milliseconds limit) {
  if (!client_) co_return;
  const SteadyTime deadline = s_.clock.steady() + limit;
  while (outstanding_ > 0 && s_.clock.steady() < deadline && !broken_)
    co_await idle_.wait(s_.clock, std::chrono::ceil<milliseconds>(deadline - s_.clock.steady()));
  if (outstanding_ > 0) {
    s_.log.warn(uri_, std::to_string(outstanding_) + " records were not acknowledged in time");
    rd_kafka_purge(client_->get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }
  closing_ = true;
  client_->interrupt();
  co_await tasks_.wait(kEndWait);
  if (!tasks_.empty()) tasks_.cancel();
  while (!tasks_.empty()) co_await tasks_.wait(kEndWait);
  for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
  topics_.clear();
  std::unique_ptr<Client> client = std::move(client_);
  space_.ring_all();
  co_await client->destroy();
}

}  // namespace drom::kafka
