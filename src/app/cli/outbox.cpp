#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "app/cli/outbox_print.hpp"
#include "app/cli/outbox_session.hpp"
#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/log_admin.hpp"
#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"
#include "connectors/outbox/outbox_verify.hpp"
#include "connectors/outbox/table_check.hpp"
#include "drom/base/json.hpp"

namespace drom::cli {
namespace {

struct OutboxOptions {
  OutboxPlace place;
  bool json = false;
  bool apply = false;
  bool dead = false;
  bool yes = false;
  bool watch = false;
  double watch_s = 2;
  int64_t times = 0;  // of watching; 0 = until interrupted
  std::string dialect = "sqlite";
  std::string state;
  std::string key;
  std::string type;
  std::string older_than;
  std::string max_age = "5m";
  std::string max_transaction = "5m";
  int64_t limit = 50;
  std::vector<std::string> ids;
};

int wrong_call(const Error& error) {
  complain(error);
  return kUsage;
}

Result<std::vector<int64_t>> parse_ids(const std::vector<std::string>& texts) {
  std::vector<int64_t> out;
  for (const std::string& text : texts) {
    const std::optional<int64_t> id = Value(text).to_int();
    if (!id)
      return Error(ErrorKind::data, "'" + text + "' is no row id",
                   "ids are whole numbers; `drom outbox list` shows them");
    out.push_back(*id);
  }
  return out;
}

Result<std::optional<milliseconds>> parse_age(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<milliseconds>();
  Result<milliseconds> age = parse_duration(text);
  if (age) return std::optional<milliseconds>(*age);
  return Error(ErrorKind::data, std::string(option) + ": '" + text + "' is no duration",
               "write it like 30s, 10m, 12h or 7d");
}

Result<outbox::Selection> selection_of(const OutboxOptions& options) {
  outbox::Selection out;
  Result<std::vector<int64_t>> ids = parse_ids(options.ids);
  if (!ids) return std::move(ids.error());
  Result<std::optional<milliseconds>> age = parse_age("--older-than", options.older_than);
  if (!age) return std::move(age.error());
  out.ids = std::move(*ids);
  out.key = options.key;
  out.type = options.type;
  out.state = options.dead ? "dead" : options.state;
  out.older_than = *age;
  const std::vector<std::string>& states = outbox::states();
  if (!out.state.empty() && std::ranges::find(states, out.state) == states.end())
    return Error(ErrorKind::data, "there is no state '" + out.state + "'",
                 did_you_mean(out.state, states));
  return out;
}

// Whether a person is asked first: scripts are taken at their word.
bool must_confirm(const OutboxOptions& options, const char* what) {
  if (options.yes || ::isatty(STDIN_FILENO) == 0) return false;
  std::fprintf(stderr, "error: this deletes %s for good\nhint: add --yes when that is meant\n",
               what);
  return true;
}

const char* rows_word(int64_t n) { return n == 1 ? "row" : "rows"; }

using Work = int (*)(OutboxSession&, OutboxTarget&, const OutboxOptions&);

int with_session(const OutboxOptions& options, Work work) {
  Result<OutboxTarget> target = outbox_target(options.place);
  if (!target) return wrong_call(target.error());
  int exit_code = kOk;
  const auto session = OutboxSession::open(options.place.url, false, exit_code);
  return session ? work(*session, *target, options) : exit_code;
}

// The shape as the table really is. False: the error has been printed.
bool resolve(OutboxSession& session, OutboxTarget& target) {
  Result<outbox::TableShape> shape =
      session.run(outbox::prepare_shape(session.database(), target.shape, target.sent, false));
  if (!shape) {
    complain(shape.error());
    return false;
  }
  target.shape = std::move(*shape);
  return true;
}

sql::Dialect dialect_named(const std::string& name) {
  if (name == "postgres") return sql::Dialect::postgres;
  return name == "mysql" ? sql::Dialect::mysql : sql::Dialect::sqlite;
}

int init(const OutboxOptions& options) {
  Result<OutboxTarget> target = outbox_target(options.place);
  if (!target) return wrong_call(target.error());
  sql::Dialect dialect =
      options.place.url.empty() ? dialect_named(options.dialect) : dialect_of(options.place.url);
  const bool log = target->mode != outbox::Mode::claim;  // the tables of log mode
  const bool cdc = target->mode == outbox::Mode::cdc;
  if (log && options.place.url.empty()) dialect = sql::Dialect::postgres;
  if (log && dialect != sql::Dialect::postgres)
    return wrong_call(Error(ErrorKind::config,
                            (cdc ? "cdc" : "log") + std::string(" mode needs PostgreSQL"),
                            "name one with --url, or leave --mode out"));
  if (!options.apply) {
    std::fputs(outbox::init_ddl(dialect, target->shape).c_str(), stdout);
    if (log) std::fputs(outbox::log_ddl(target->shape.table).c_str(), stdout);
    if (cdc)
      std::fputs(outbox::cdc_ddl(target->shape.table, target->cdc.publication).c_str(), stdout);
    return kOk;
  }
  if (options.place.url.empty())
    return wrong_call(Error(ErrorKind::config, "--apply needs --url", "name the database"));
  int exit_code = kOk;
  const auto session = OutboxSession::open(options.place.url, true, exit_code);
  if (!session) return exit_code;
  const Result<void> done = session->run(outbox::init(session->database(), target->shape));
  if (!done) return complain(done.error());
  // The archive, and whether the columns of a foreign table are there.
  const Result<outbox::TableShape> shape =
      session->run(outbox::prepare_shape(session->database(), target->shape, target->sent, true));
  if (!shape) return complain(shape.error());
  if (log) {
    const Result<void> ready =
        session->run(outbox::prepare_log_tables(session->database(), target->shape.table, true));
    if (!ready) return complain(ready.error());
  }
  if (cdc) {
    Result<void> ready =
        session->run(outbox::prepare_cdc(session->database(), target->shape.table,
                                         target->cdc.publication, &target->cdc.slot, true));
    if (ready) ready = session->run(outbox::require_slot(session->database(), target->cdc.slot));
    if (!ready) return complain(ready.error());
  }
  std::printf("%s is ready\n", target->shape.table.c_str());
  return kOk;
}

int show_status(OutboxSession& session, const OutboxTarget& target, const OutboxOptions& options) {
  const auto result = session.run(outbox::status(session.database(), target.shape));
  if (!result) return complain(result.error());
  if (options.json)
    print_json(to_value(*result));
  else
    print_status(*result);
  std::fflush(stdout);
  return kOk;
}

int status(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  if (!resolve(session, target)) return kFailed;
  if (!options.watch) return show_status(session, target, options);
  const bool screen = ::isatty(STDOUT_FILENO) != 0 && !options.json;
  for (int64_t shown = 1;; ++shown) {
    if (screen) std::fputs("\x1b[H\x1b[J", stdout);
    const int code = show_status(session, target, options);
    if (code != kOk || shown == options.times) return code;
    if (!screen && !options.json) std::printf("\n");
    session.sleep(milliseconds(static_cast<int64_t>(options.watch_s * 1000)));
  }
}

int list(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  const Result<outbox::Selection> selection = selection_of(options);
  if (!selection) return wrong_call(selection.error());
  if (!resolve(session, target)) return kFailed;
  auto result =
      session.run(outbox::list(session.database(), target.shape, *selection, options.limit));
  if (!result) return complain(result.error());
  if (!options.json) {
    print_rows(*result, session.now());
    return kOk;
  }
  for (Object& row : *result) print_json(Value(std::move(row)));
  return kOk;
}

int show(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  const Result<std::vector<int64_t>> ids = parse_ids(options.ids);
  if (!ids) return wrong_call(ids.error());
  if (!resolve(session, target)) return kFailed;
  for (const int64_t id : *ids) {
    auto result = session.run(outbox::show(session.database(), target.shape, id));
    if (!result) return complain(result.error());
    std::printf("%s\n", to_json_pretty(Value(std::move(*result))).c_str());
  }
  return kOk;
}

int change(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options,
           outbox::Action action, const char* done) {
  const Result<outbox::Selection> selection = selection_of(options);
  if (!selection) return wrong_call(selection.error());
  if (selection->empty())
    return wrong_call(Error(ErrorKind::config, "say which rows",
                            "give ids, --key, --type, --state or --older-than"));
  if (!resolve(session, target)) return kFailed;
  const auto result = session.run(
      outbox::change(session.database(), session.clock(), target.shape, action, *selection));
  if (!result) return wrong_call(result.error());
  if (options.json) {
    Object out;
    out.append("rows", result->rows);
    List refused(result->refused.begin(), result->refused.end());
    out.append("refused", std::move(refused));
    print_json(Value(std::move(out)));
  } else {
    std::printf("%lld %s %s\n", static_cast<long long>(result->rows), rows_word(result->rows),
                done);
  }
  for (const std::string& why : result->refused) std::fprintf(stderr, "error: %s\n", why.c_str());
  return result->refused.empty() ? kOk : kFailed;
}

int retry(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  return change(session, target, options, outbox::Action::retry, "will be tried again");
}

int discard(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  if (must_confirm(options, "events that were never sent")) return kUsage;
  return change(session, target, options, outbox::Action::discard, "deleted");
}

int park(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  return change(session, target, options, outbox::Action::park, "parked");
}

int unpark(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  return change(session, target, options, outbox::Action::unpark, "will be tried again");
}

int purge(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  const Result<outbox::Selection> selection = selection_of(options);
  if (!selection) return wrong_call(selection.error());
  const std::string state = selection->state.empty() ? "sent" : selection->state;
  if (state == "dead" && must_confirm(options, "events that were never sent")) return kUsage;
  if (!resolve(session, target)) return kFailed;
  const auto result = session.run(outbox::purge(session.database(), session.clock(), target.shape,
                                                state, selection->older_than));
  if (!result) return wrong_call(result.error());
  std::printf("%lld %s %s deleted\n", static_cast<long long>(*result), state.c_str(),
              rows_word(*result));
  return kOk;
}

int verify(OutboxSession& session, OutboxTarget& target, const OutboxOptions& options) {
  outbox::VerifyLimits limits;
  Result<std::optional<milliseconds>> age = parse_age("--max-age", options.max_age);
  if (!age) return wrong_call(age.error());
  limits.oldest = age->value_or(limits.oldest);
  Result<std::optional<milliseconds>> open =
      parse_age("--max-transaction", options.max_transaction);
  if (!open) return wrong_call(open.error());
  limits.transaction = open->value_or(limits.transaction);
  const auto result =
      session.run(outbox::verify(session.database(), target.shape, target.sent, limits));
  if (!result) return complain(result.error());
  if (options.json) {
    for (const outbox::Finding& finding : *result) print_json(to_value(finding));
  } else {
    print_findings(*result);
  }
  const bool fine = std::ranges::all_of(*result, [](const outbox::Finding& finding) {
    return finding.level == outbox::Finding::Level::ok;
  });
  return fine ? kOk : kFailed;
}

// Builds the command line.
class Verbs {
 public:
  Verbs(CLI::App& parent, int& exit_code) : parent_(parent), exit_code_(exit_code) {}

  CLI::App* add(const char* name, const char* doc, Work work, const char* examples) {
    CLI::App* verb = parent_.add_subcommand(name, doc);
    auto* url = verb->add_option("--url", options_->place.url,
                                 "The database: an SQLite file, postgresql://... or mysql://...");
    auto* which = verb->add_option_group("which", "Which outbox");
    which->add_option("--name", options_->place.name,
                      "The name in outbox:NAME (table outbox_NAME)");
    which->add_option("--table", options_->place.table, "The table, when the route sets `table`");
    which->add_option("--uri", options_->place.uri,
                      "The URI of the route, when it sets `format` and columns");
    which->require_option(1);
    verb->footer(examples);
    if (!work) return verb;
    url->required();
    auto options = options_;
    int& exit_code = exit_code_;
    verb->callback([options, work, &exit_code] { exit_code = with_session(*options, work); });
    return verb;
  }
  void selection(CLI::App* verb) {
    verb->add_option("ids", options_->ids, "Row ids")->type_name("ID");
    verb->add_option("--key", options_->key, "Rows of this key");
    verb->add_option("--type", options_->type, "Rows of this type");
    state(verb);
    older(verb, "Rows written longer ago than this: 30s, 10m, 12h, 7d");
  }
  void state(CLI::App* verb) {
    verb->add_option("--state", options_->state, "Rows in this state")
        ->type_name("due|waiting|sent|dead|parked");
  }
  void older(CLI::App* verb, const char* doc) {
    verb->add_option("--older-than", options_->older_than, doc)->type_name("DURATION");
  }
  void json(CLI::App* verb, const char* doc) { verb->add_flag("--json", options_->json, doc); }
  void yes(CLI::App* verb) {
    verb->add_flag("--yes", options_->yes, "Do not ask, although this is a terminal");
  }
  std::shared_ptr<OutboxOptions> options() { return options_; }

 private:
  CLI::App& parent_;
  int& exit_code_;
  std::shared_ptr<OutboxOptions> options_ = std::make_shared<OutboxOptions>();
};

void add_looking(Verbs& verbs) {
  auto options = verbs.options();
  CLI::App* status_verb =
      verbs.add("status", "Counts rows by state; who works, what lags, what holds back", status,
                "Examples:\n"
                "  drom outbox status --name orders --url shop.db\n"
                "  drom outbox status --name orders --url postgresql://localhost/shop --watch 5\n"
                "  drom outbox status --name orders --url shop.db --json | jq .dead");
  verbs.json(status_verb, "For machines, with the lag of each bucket");
  auto* watch = status_verb->add_option("--watch", options->watch_s,
                                        "Again and again, every so many seconds");
  watch->expected(0, 1)
      ->type_name("[SECONDS]")
      ->check(CLI::Range(0.1, 86400.0))
      ->each([options](const std::string&) { options->watch = true; });
  status_verb->add_option("--times", options->times, "With --watch: end after so many")
      ->check(CLI::Range(1, 1000000));

  CLI::App* list_verb =
      verbs.add("list", "Lists rows; without --state those that are not sent", list,
                "Examples:\n"
                "  drom outbox list --name orders --url shop.db --state dead\n"
                "  drom outbox list --name orders --url shop.db --key 42 --json");
  verbs.selection(list_verb);
  list_verb->add_option("--limit", options->limit, "At most this many")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  verbs.json(list_verb, "One JSON object per line");

  CLI::App* show_verb = verbs.add("show", "Shows rows with payload and headers, as JSON", show,
                                  "Examples:\n"
                                  "  drom outbox show 17 --name orders --url shop.db");
  show_verb->add_option("ids", options->ids, "Row ids")->type_name("ID")->required();

  CLI::App* verify_verb = verbs.add(
      "verify", "Looks for what is wrong; exit code 1 and advice when it finds something", verify,
      "Examples:\n"
      "  drom outbox verify --name orders --url postgresql://localhost/shop\n"
      "  drom outbox verify --name orders --url shop.db --max-age 30s --json");
  verify_verb->add_option("--max-age", options->max_age, "How old the oldest due row may be")
      ->type_name("DURATION")
      ->capture_default_str();
  verify_verb
      ->add_option("--max-transaction", options->max_transaction,
                   "How long a transaction may be open (PostgreSQL)")
      ->type_name("DURATION")
      ->capture_default_str();
  verbs.json(verify_verb, "One JSON object per line");
}

void add_changing(Verbs& verbs) {
  auto options = verbs.options();
  CLI::App* retry_verb = verbs.add("retry", "Makes dead, parked or waiting rows due again", retry,
                                   "Examples:\n"
                                   "  drom outbox retry 17 18 --name orders --url shop.db\n"
                                   "  drom outbox retry --dead --name orders --url shop.db\n"
                                   "  drom outbox retry --state dead --type order.created "
                                   "--older-than 1h --name orders --url shop.db");
  verbs.selection(retry_verb);
  retry_verb->add_flag("--dead", options->dead, "The same as --state dead");
  verbs.json(retry_verb, "For machines");

  CLI::App* discard_verb =
      verbs.add("discard", "Deletes rows that were never sent", discard,
                "Examples:\n"
                "  drom outbox discard 17 --name orders --url shop.db --yes\n"
                "  drom outbox discard --state dead --type test --name orders --url shop.db --yes");
  verbs.selection(discard_verb);
  verbs.yes(discard_verb);
  verbs.json(discard_verb, "For machines");

  CLI::App* park_verb = verbs.add("park", "Holds rows back, and their keys with them", park,
                                  "Examples:\n"
                                  "  drom outbox park --key 42 --name orders --url shop.db");
  verbs.selection(park_verb);
  verbs.json(park_verb, "For machines");

  CLI::App* unpark_verb =
      verbs.add("unpark", "Lets parked rows go", unpark,
                "Examples:\n"
                "  drom outbox unpark --key 42 --name orders --url shop.db\n"
                "  drom outbox unpark --state parked --name orders --url shop.db");
  verbs.selection(unpark_verb);
  verbs.json(unpark_verb, "For machines");

  CLI::App* purge_verb = verbs.add(
      "purge", "Deletes sent rows, or dead ones with --state dead, in chunks", purge,
      "Examples:\n"
      "  drom outbox purge --older-than 7d --name orders --url shop.db\n"
      "  drom outbox purge --state dead --older-than 30d --name orders --url shop.db --yes");
  purge_verb->add_option("--state", options->state, "sent (default) or dead")
      ->type_name("sent|dead");
  verbs.older(purge_verb, "Sent (or, if dead, written) longer ago than this");
  verbs.yes(purge_verb);
}

}  // namespace

void add_outbox(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("outbox", "Shows and repairs outbox tables");
  verb->require_subcommand(1);
  Verbs verbs(*verb, exit_code);
  auto options = verbs.options();
  CLI::App* init_verb = verbs.add("init", "Prints the SQL of the tables, or creates them", nullptr,
                                  "Examples:\n"
                                  "  drom outbox init --name orders --dialect postgres\n"
                                  "  drom outbox init --name orders --mode log\n"
                                  "  drom outbox init --name orders --url shop.db --apply");
  init_verb->add_option("--dialect", options->dialect, "Which SQL to print without --url")
      ->check(CLI::IsMember({"sqlite", "postgres", "mysql"}))
      ->capture_default_str();
  init_verb
      ->add_option("--mode", options->place.mode, "As in the route; log and cdc mean PostgreSQL")
      ->check(CLI::IsMember({"claim", "log", "cdc"}))
      ->capture_default_str();
  init_verb->add_flag("--apply", options->apply, "Create them in the database of --url");
  init_verb->callback([options, &exit_code] { exit_code = init(*options); });
  add_looking(verbs);
  add_changing(verbs);
  verb->footer(
      "Examples:\n"
      "  drom outbox init   --name orders --url shop.db --apply\n"
      "  drom outbox status --name orders --url postgresql://localhost/shop\n"
      "  drom outbox list   --name orders --url shop.db --state dead\n"
      "  drom outbox retry  --name orders --url shop.db --dead\n"
      "  drom outbox verify --url shop.db --uri 'outbox:x?format=mapped&table=Messages&...'\n\n"
      "Exit codes: 0, 1 the database said no or something is wrong, 64 wrong call, 66 no such "
      "file.");
}

}  // namespace drom::cli
