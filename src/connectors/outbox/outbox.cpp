#include "connectors/outbox/outbox.hpp"

#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "drom/spi/registry.hpp"
#include "spi/step_support.hpp"
#include "sql/data_source.hpp"

namespace drom {
namespace {

using outbox::Mode;
using outbox::OutboxOptions;
using outbox::OutboxServices;
using outbox::RelayModes;

class OutboxEndpoint final : public Endpoint {
 public:
  OutboxEndpoint(OutboxServices services, OutboxOptions options)
      : services_(services), options_(std::move(options)) {}
  std::string uri() const override { return options_.uri; }
  std::string source() const override {
    return "outbox table " + options_.table + " of " + services_.database.name();
  }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    // A claim relay beside one that does more takes rows of both.
    Mode& mode = (*services_.modes)[{&services_.database, options_.table}];
    if (mode == Mode::claim) mode = options_.mode;
    return outbox::make_consumer(services_, options_);
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    if (options_.foreign)
      return Error(
          ErrorKind::config,
          "rows of table " + options_.table + " are written by the application that owns it",
          "format=drom has a table to write to; `to: sql:INSERT ...` writes to any other");
    return outbox::make_producer(services_, options_);
  }

 private:
  OutboxServices services_;
  OutboxOptions options_;
};

std::vector<OptionSpec> common_part() {
  return {
      {.name = "name",
       .doc = "Name of the outbox; its table is outbox_NAME.",
       .example = "orders",
       .required = true,
       .path = true},
      {.name = "dataSource",
       .type = OptionType::reference,
       .doc = "Data source that holds the table; not needed when there is only one.",
       .example = "#orders"},
      {.name = "table",
       .doc = "Table to use instead of outbox_NAME, with an optional schema.",
       .example = "sales.outbox"},
      {.name = "mode",
       .type = OptionType::enumeration,
       .doc =
           "How the table is used. On `to` by default as the route of this process does that reads "
           "it, else claim. claim: relays share the keys, "
           "and mark or delete what is sent. log (PostgreSQL): rows go to TABLE_log and are never "
           "changed, one relay at a time reads them in the order of their commits, and tables are "
           "emptied as a whole; rows that fail go on in TABLE. Long transactions and high rates do "
           "not make the tables grow. cdc (PostgreSQL with wal_level=logical): as log, but the "
           "relay "
           "is told of the rows by a replication slot, and reads the tables only while it has "
           "none.",
       .fallback = "claim",
       .values = {"claim", "log", "cdc"}},
      {.name = "createTable",
       .type = OptionType::boolean,
       .doc = "Whether the table and drom_lease (mode=cdc: and the publication) are created when "
              "they do not exist.",
       .fallback = "true"},
  };
}

std::vector<OptionSpec> producer_part() {
  return {
      {.name = "key",
       .type = OptionType::expression,
       .doc =
           "Key of the event: events of one key are delivered in order. Without it the key of the "
           "exchange is taken, which a relay or Kafka route sets; an empty key means no order.",
       .example = "${body[id]}"},
      {.name = "type",
       .type = OptionType::expression,
       .doc = "Type of the event, which receivers see as the header eventType.",
       .example = "order.created"},
      {.name = "eventId",
       .type = OptionType::expression,
       .doc = "Identity of the event, stable over redeliveries; a new UUID by default.",
       .example = "${header.requestId}"},
      {.name = "delay",
       .type = OptionType::expression,
       .doc =
           "How long the event waits before it becomes due: a duration, milliseconds or a date. It "
           "does not hold back other events of its key.",
       .example = "30m"},
      {.name = "timeToLive",
       .type = OptionType::expression,
       .doc = "How long the event is worth sending: a duration, milliseconds or a date. A row that "
              "has not been sent by then becomes dead instead; other events of its key go on.",
       .example = "1h"},
      {.name = "headers",
       .type = OptionType::list,
       .doc = "Headers to store: names, prefixes with a star, or a star for all except credentials "
              "and "
              "headers of one hop; content-type, traceparent and tracestate always travel.",
       .fallback = "*",
       .example = "tenant,x-*"},
      {.name = "tableless",
       .type = OptionType::boolean,
       .doc =
           "mode=cdc: the event is written to the write-ahead log only "
           "(pg_logical_emit_message), and no table grows. It is lost with the slot, where a row "
           "would still be read from the table.",
       .fallback = "false"},
  };
}

std::vector<OptionSpec> cdc_part() {
  return {
      {.name = "slot",
       .doc = "mode=cdc: the replication slot; drom_DATABASE_TABLE by default. It is made when it "
              "does not exist and stays when the relay stops: drop it "
              "(pg_drop_replication_slot) when the relay is gone for good, or the server "
              "keeps its log for it.",
       .example = "drom_orders"},
      {.name = "publication",
       .doc = "mode=cdc: the publication of TABLE_log; drom_TABLE by default.",
       .example = "drom_orders"},
      {.name = "heartbeat",
       .type = OptionType::duration,
       .doc = "mode=cdc: how often a sign of life is written to the write-ahead log while nothing "
              "happens. A stream in which three of them do not come back is opened anew.",
       .fallback = "10s",
       .minimum = 100},
      {.name = "maxSlotLag",
       .type = OptionType::integer,
       .doc = "mode=cdc: bytes of write-ahead log that the slot may make the server keep. When it "
              "is more, because the target has been away for long, the slot is dropped, rows are "
              "read from the tables, and a new slot is made. 0: without limit. Not with tableless "
              "events, which only the slot knows.",
       .fallback = "0",
       .minimum = 0},
  };
}

std::vector<OptionSpec> relay_part() {
  return {
      {.name = "ordering",
       .type = OptionType::enumeration,
       .doc =
           "Which events wait for which: key keeps the events of one key in order; none lets "
           "every event go as soon as it can; total keeps all of them in order, one at a time, "
           "through one relay while others stand by, and one that fails holds up all later ones.",
       .fallback = "key",
       .values = {"none", "key", "total"}},
      {.name = "maximumAttempts",
       .type = OptionType::integer,
       .doc = "How often an event is tried before failurePolicy applies; 0 means without end. "
              "Attempts "
              "that found nobody at the other end do not count.",
       .fallback = "10",
       .minimum = 0},
      {.name = "initialDelay",
       .type = OptionType::duration,
       .doc = "Wait before the second attempt.",
       .fallback = "1s",
       .minimum = 0},
      {.name = "multiplier",
       .type = OptionType::number,
       .doc = "Factor by which the wait grows from attempt to attempt.",
       .fallback = "2",
       .minimum = 1},
      {.name = "maxDelay",
       .type = OptionType::duration,
       .doc = "Longest wait between two attempts.",
       .fallback = "5m",
       .minimum = 1},
      {.name = "failurePolicy",
       .type = OptionType::enumeration,
       .doc = "What happens after the last attempt, or at once when the payload is wrong or "
              "refused for "
              "good: skip (or deadLetter) makes the row dead and goes on with its key, park keeps "
              "the key waiting "
              "for a "
              "person, block tries for ever and keeps the key waiting.",
       .fallback = "skip",
       .values = {"skip", "deadLetter", "park", "block"}},
      {.name = "sentPolicy",
       .type = OptionType::enumeration,
       .doc =
           "What happens to delivered rows: mark keeps them as sent for sentRetention, delete "
           "removes "
           "them at once and is faster, archive moves them to TABLE_archive. A table that is not "
           "ours is marked where it has sentColumn or statusColumn, and Debezium's is deleted "
           "from otherwise.",
       .fallback = "mark",
       .values = {"mark", "delete", "archive"}},
      {.name = "sentRetention",
       .type = OptionType::duration,
       .doc =
           "How long rows marked as sent are kept; 0 keeps them for ever, and so does a table that "
           "is not ours unless the option is given.",
       .fallback = "1d",
       .minimum = 0},
      {.name = "maxInFlight",
       .type = OptionType::integer,
       .doc = "How many events may be on their way through the route at once, each of another key. "
              "Without it a route that only sends to a broker at its end works on 512.",
       .fallback = "64",
       .minimum = 1,
       .maximum = 10000},
      {.name = "batchSize",
       .type = OptionType::integer,
       .doc = "How many rows are read from the table at once.",
       .fallback = "512",
       .minimum = 1,
       .maximum = 100000},
      {.name = "lease",
       .type = OptionType::duration,
       .doc = "How long a relay keeps its share of the keys without a sign of life, before others "
              "take "
              "over (not SQLite files, where the lock of a dead process is free at once).",
       .fallback = "10s",
       .minimum = 100},
      {.name = "maxPollDelay",
       .type = OptionType::duration,
       .doc = "Longest pause between two looks at an idle table; writers in this process wake the "
              "relay "
              "at once.",
       .fallback = "1s",
       .minimum = 1},
  };
}

ConfigSpec outbox_spec() {
  ConfigSpec spec;
  spec.name = "outbox";
  spec.title = "Outbox";
  spec.doc =
      "A table of events beside the business data (transactional outbox). `to: outbox:orders` "
      "inserts "
      "the message as a row in the current transaction: the event exists exactly when the business "
      "change does. `from: outbox:orders` is the relay: it hands every committed row to its route "
      "and "
      "marks it as sent when the route has ended well, retries with growing waits when it failed, "
      "and "
      "keeps events of one key in order, also with several relays. Delivery is at least once: "
      "after a "
      "crash an event may come again, with the same eventId, which an idempotentConsumer takes as "
      "key. "
      "Other programs, in any language, insert with a plain INSERT INTO outbox_orders (key, type, "
      "payload). Bodies that are neither text nor bytes are stored as JSON text.";
  spec.syntax = "outbox:name";
  spec.consumes = spec.produces = true;
  for (auto part : {common_part(), outbox::format_options(), producer_part(), relay_part(),
                    cdc_part(), outbox::mapping_options(), outbox::debezium_options()})
    for (OptionSpec& option : part) spec.options.push_back(std::move(option));
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: direct:place\n"
      "      steps:\n"
      "        - transacted:\n"
      "            steps:\n"
      "              - to: \"sql:insert into orders(id) values (:#${body[id]})\"\n"
      "              - to: \"outbox:orders?key=${body[id]}&type=order.created\"\n"
      "- route:\n"
      "    from:\n"
      "      uri: outbox:orders\n"
      "      steps:\n"
      "        - to: seda:shipping\n";
  return spec;
}

OnExhausted failure_policy(const std::string& text) {
  if (text == "park") return OnExhausted::park;
  if (text == "block") return OnExhausted::block;
  return OnExhausted::skip;
}

Ordering ordering(const std::string& text) {
  if (text == "none") return Ordering::none;
  return text == "total" ? Ordering::total : Ordering::key;
}

RelayPolicy relay_policy(const Config& config) {
  RelayPolicy policy;
  policy.read_max = static_cast<size_t>(config.integer("batchSize"));
  policy.mark_max = policy.read_max;
  policy.attempts_max = static_cast<int>(config.integer("maximumAttempts"));
  policy.retry.initial = config.duration("initialDelay");
  policy.retry.multiplier = config.number("multiplier");
  policy.retry.maximum = config.duration("maxDelay");
  policy.ordering = ordering(config.text("ordering"));
  policy.on_exhausted = failure_policy(config.text("failurePolicy"));
  policy.lease = config.duration("lease");
  policy.poll_max = config.duration("maxPollDelay");
  policy.poll_min = std::min(policy.poll_min, policy.poll_max);
  return policy;
}

Result<outbox::SentPolicy> sent_policy(const Config& config,
                                       const std::optional<outbox::ForeignTable>& foreign) {
  using outbox::SentPolicy;
  const std::string& text = config.text("sentPolicy");
  if (text == "delete") return SentPolicy::remove;
  if (text == "archive") return SentPolicy::archive;
  if (!foreign || foreign->shape.marks()) return SentPolicy::mark;
  if (foreign->shape.format == outbox::TableFormat::debezium && !config.given("sentPolicy"))
    return SentPolicy::remove;
  return Error(
      ErrorKind::config,
      "nothing tells a sent row of table " + foreign->shape.table + " from one that is due",
      "name sentColumn or statusColumn, or set sentPolicy to delete or archive");
}

Result<void> read_mode(const Config& config, OutboxOptions& options) {
  const std::string& mode = config.text("mode");
  if (mode == "log") options.mode = outbox::Mode::log;
  if (mode == "cdc") options.mode = outbox::Mode::cdc;
  for (const char* name : {"tableless", "slot", "publication", "heartbeat", "maxSlotLag"})
    if (config.given(name) && options.mode != outbox::Mode::cdc)
      return Error(ErrorKind::config, std::string(name) + " is an option of mode=cdc",
                   "add mode=cdc, or remove it");
  options.mode_given = config.given("mode");
  options.tableless = config.flag("tableless");
  outbox::CdcOptions& cdc = options.cdc;
  cdc.publication = outbox::publication_name(options.table);
  for (auto [name, target] :
       {std::pair("slot", &cdc.slot), std::pair("publication", &cdc.publication)}) {
    if (!config.given(name)) continue;
    Result<std::string> checked = outbox::checked_slot(config.text(name));
    if (!checked) return std::move(checked.error());
    *target = std::move(*checked);
  }
  cdc.heartbeat = config.duration("heartbeat");
  cdc.slot_lag_max = config.integer("maxSlotLag");
  return {};
}

}  // namespace

namespace outbox {

ConfigSpec endpoint_spec() { return outbox_spec(); }

Result<OutboxOptions> read_options(const Config& config) {
  Result<std::string> table = config.given("table") ? checked_table(config.text("table"))
                                                    : default_table(config.text("name"));
  if (!table) return std::move(table.error());
  OutboxOptions options;
  options.uri = "outbox:" + config.text("name");
  options.table = std::move(*table);
  options.create_table = config.flag("createTable");
  options.key = config.expression("key");
  options.type = config.expression("type");
  options.event_id = config.expression("eventId");
  options.delay = config.expression("delay");
  options.time_to_live = config.expression("timeToLive");
  options.headers = config.list("headers");
  options.policy = relay_policy(config);
  Result<std::optional<ForeignTable>> foreign = foreign_table(config, options.table);
  if (!foreign) return std::move(foreign.error());
  options.foreign = std::move(*foreign);
  if (Result<void> mode = read_mode(config, options); !mode) return std::move(mode.error());
  const std::string mode = "mode=" + config.text("mode");
  if (options.mode != Mode::claim && options.foreign)
    return Error(ErrorKind::config,
                 mode + " has tables of its own and cannot read table " + options.table +
                     " in another format",
                 "remove `format`, or use mode=claim, which reads any table");
  Result<SentPolicy> sent = sent_policy(config, options.foreign);
  if (!sent) return std::move(sent.error());
  options.sent = *sent;
  if (options.mode != Mode::claim && options.policy.ordering == Ordering::total)
    return Error(ErrorKind::config, mode + " keeps the order of each key and no total one",
                 "use ordering=key and one key for all events, or mode=claim");
  if (options.mode != Mode::claim && options.sent == SentPolicy::archive)
    return Error(ErrorKind::config, mode + " keeps no row that was sent, so none can be archived",
                 "remove sentPolicy=archive, or use mode=claim");
  options.retention = config.duration("sentRetention");
  if (options.foreign && !config.given("sentRetention")) options.retention = milliseconds(0);
  if (options.sent == SentPolicy::mark && options.retention.count() > 0)
    options.policy.purge_max = 2000;
  options.in_flight_max = static_cast<size_t>(config.integer("maxInFlight"));
  if (config.given("maxInFlight")) options.window = options.in_flight_max;
  return options;
}

}  // namespace outbox

namespace {

Result<std::unique_ptr<Endpoint>> make_outbox(const Config& config, BuildContext& context) {
  Result<OutboxOptions> options = outbox::read_options(config);
  if (!options) return std::move(options.error());
  Result<sql::Database*> database =
      sql::find_data_source(context.registry(), config.text("dataSource"));
  if (!database) return std::move(database.error());
  if (options->mode != outbox::Mode::claim && (*database)->dialect() != sql::Dialect::postgres)
    return Error(ErrorKind::config,
                 "mode=" + config.text("mode") + " needs PostgreSQL, and data source '" +
                     (*database)->name() + "' is " +
                     std::string(sql::to_string((*database)->dialect())),
                 "use mode=claim, which works on every database");
  OutboxBoard& board = context.shared<OutboxBoard>([] { return std::make_shared<OutboxBoard>(); });
  RelayModes& modes = context.shared<RelayModes>([] { return std::make_shared<RelayModes>(); });
  OutboxServices services{**database,    context.io(), context.clock(), context.log(),
                          context.rng(), &board,       &modes};
  return std::unique_ptr<Endpoint>(std::make_unique<OutboxEndpoint>(services, std::move(*options)));
}

}  // namespace

void register_outbox(Registry& registry) {
  registry.add(ComponentInfo{"outbox", outbox_spec, make_outbox, {}});
}

}  // namespace drom
