#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "app/cli/common.hpp"
#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_sql.hpp"
#include "drom/base/json.hpp"
#include "observe/spd_log.hpp"

namespace drom::cli {
namespace {

struct OutboxOptions {
  std::string url;
  std::string name;
  std::string table;
  bool json = false;
  bool apply = false;
  bool dead = false;
  std::string dialect = "sqlite";
  std::string state;
  int64_t limit = 50;
  std::vector<int64_t> ids;
};

bool is_postgres(const std::string& url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://") ||
         url.find("host=") != std::string::npos;
}

int complain(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return kFailed;
}

Result<std::string> table_of(const OutboxOptions& options) {
  if (!options.table.empty()) return outbox::checked_table(options.table);
  return outbox::default_table(options.name);
}

// An engine without routes: it owns the connection and the clock, as it does for routes.
class Session {
 public:
  // The file of an SQLite database must exist, unless `create`.
  static std::unique_ptr<Session> open(const std::string& url, bool create, int& exit_code) {
    const bool postgres = is_postgres(url);
    if (!postgres && !create && !std::filesystem::exists(url)) {
      std::fprintf(stderr, "error: no such database file: %s\n", url.c_str());
      exit_code = kNoInput;
      return nullptr;
    }
    auto session = std::make_unique<Session>();
    session->app_.routes().bean("db", postgres ? "drom.postgres" : "drom.sqlite",
                                {{postgres ? "url" : "file", url}});
    if (!session->app_.build()) {
      print_problems(session->app_.engine().diagnostics());
      exit_code = kUsage;
      return nullptr;
    }
    const Result<void> started = session->app_.engine().start_now();
    if (started) return session;
    exit_code = complain(started.error());
    return nullptr;
  }

  template <class T>
  Result<T> run(async<Result<T>> work) {
    Result<T> out = Error(ErrorKind::bug, "the command did not end");
    app_.engine().run_now(store(std::move(work), out));
    return out;
  }
  sql::Database& database() { return *app_.registry().find<sql::Database>("db"); }

  Session() : app_(options()) {}

 private:
  static EngineOptions options() {
    EngineOptions out;
    out.log = make_log(LogLevel::error, LogFormat::text);
    return out;
  }
  template <class T>
  static async<> store(async<Result<T>> work, Result<T>& out) {
    Result<T> value = co_await std::move(work);
    out = std::move(value);
  }
  App app_;
};

std::string cell(const Object& row, const char* column, size_t width_max) {
  const Value* value = row.find(column);
  std::string text = value ? escape_controls(value->to_text()) : "";
  if (text.size() > width_max) text = text.substr(0, width_max - 3) + "...";
  return text;
}

void print_rows(const std::vector<Object>& rows) {
  std::printf("%-8s %-8s %-24s %-20s %-9s %s\n", "ID", "STATE", "TYPE", "KEY", "ATTEMPTS",
              "LAST ERROR");
  for (const Object& row : rows)
    std::printf("%-8s %-8s %-24s %-20s %-9s %s\n", cell(row, "id", 20).c_str(),
                cell(row, "status", 8).c_str(), cell(row, "type", 24).c_str(),
                cell(row, "key", 20).c_str(), cell(row, "attempts", 9).c_str(),
                cell(row, "last_error", 80).c_str());
}

void print_status(const outbox::Status& status, bool json) {
  if (json) {
    Object out;
    out.append("due", status.due);
    out.append("waiting", status.waiting);
    out.append("sent", status.sent);
    out.append("dead", status.dead);
    out.append("parked", status.parked);
    out.append("oldest_due_ms",
               status.oldest_due ? Value(int64_t{status.oldest_due->count()}) : Value());
    out.append("relays", static_cast<int64_t>(status.relays.size()));
    std::printf("%s\n", to_json(Value(std::move(out))).c_str());
    return;
  }
  std::printf("due      %lld", static_cast<long long>(status.due));
  if (status.oldest_due) std::printf("   (oldest: %s)", to_string(*status.oldest_due).c_str());
  std::printf("\nwaiting  %lld\nsent     %lld\ndead     %lld\nparked   %lld\n",
              static_cast<long long>(status.waiting), static_cast<long long>(status.sent),
              static_cast<long long>(status.dead), static_cast<long long>(status.parked));
  for (const auto& relay : status.relays)
    std::printf("relay    %s holds %lld buckets\n", relay.owner.c_str(),
                static_cast<long long>(relay.buckets));
}

int print_count(const Result<int64_t>& count, const char* what) {
  if (!count) return complain(count.error());
  std::printf("%lld rows %s\n", static_cast<long long>(*count), what);
  return kOk;
}

int init(const OutboxOptions& options) {
  const Result<std::string> table = table_of(options);
  if (!table) return complain(table.error());
  if (!options.apply) {
    const bool postgres =
        options.url.empty() ? options.dialect == "postgres" : is_postgres(options.url);
    std::fputs(outbox::outbox_ddl(postgres ? sql::Dialect::postgres : sql::Dialect::sqlite, *table)
                   .c_str(),
               stdout);
    return kOk;
  }
  if (options.url.empty()) {
    std::fprintf(stderr, "error: --apply needs --url\n");
    return kUsage;
  }
  int exit_code = kOk;
  const auto session = Session::open(options.url, true, exit_code);
  if (!session) return exit_code;
  const Result<void> done = session->run(outbox::init(session->database(), *table));
  if (!done) return complain(done.error());
  std::printf("%s is ready\n", table->c_str());
  return kOk;
}

using Work = int (*)(Session&, const std::string& table, const OutboxOptions&);

int with_session(const OutboxOptions& options, Work work) {
  const Result<std::string> table = table_of(options);
  if (!table) {
    complain(table.error());
    return kUsage;
  }
  int exit_code = kOk;
  const auto session = Session::open(options.url, false, exit_code);
  return session ? work(*session, *table, options) : exit_code;
}

int status(Session& session, const std::string& table, const OutboxOptions& options) {
  const auto result = session.run(outbox::status(session.database(), table));
  if (!result) return complain(result.error());
  print_status(*result, options.json);
  return kOk;
}

int list(Session& session, const std::string& table, const OutboxOptions& options) {
  outbox::ListFilter filter;
  filter.state = options.state;
  filter.limit = options.limit;
  auto result = session.run(outbox::list(session.database(), table, filter));
  if (!result) return complain(result.error());
  if (options.json) {
    for (Object& row : *result) std::printf("%s\n", to_json(Value(std::move(row))).c_str());
  } else {
    print_rows(*result);
  }
  return kOk;
}

int show(Session& session, const std::string& table, const OutboxOptions& options) {
  for (const int64_t id : options.ids) {
    auto result = session.run(outbox::show(session.database(), table, id));
    if (!result) return complain(result.error());
    std::printf("%s\n", to_json_pretty(Value(std::move(*result))).c_str());
  }
  return kOk;
}

int retry(Session& session, const std::string& table, const OutboxOptions& options) {
  if (options.dead == !options.ids.empty()) {
    std::fprintf(stderr, "error: give ids, or --dead for all dead rows\n");
    return kUsage;
  }
  return print_count(options.dead
                         ? session.run(outbox::retry_all_dead(session.database(), table))
                         : session.run(outbox::retry(session.database(), table, options.ids)),
                     "will be tried again");
}

int discard(Session& session, const std::string& table, const OutboxOptions& options) {
  return print_count(session.run(outbox::discard(session.database(), table, options.ids)),
                     "deleted");
}

CLI::App* add_verb(CLI::App& parent, const char* name, const char* doc,
                   const std::shared_ptr<OutboxOptions>& options, bool url_required) {
  CLI::App* verb = parent.add_subcommand(name, doc);
  auto* url =
      verb->add_option("--url", options->url, "The database: an SQLite file or postgresql://...");
  if (url_required) url->required();
  auto* which = verb->add_option_group("which", "Which outbox");
  which->add_option("--name", options->name, "The name in outbox:NAME (table outbox_NAME)");
  which->add_option("--table", options->table, "The table, when the route sets `table`");
  which->require_option(1);
  return verb;
}

}  // namespace

void add_outbox(CLI::App& app, int& exit_code) {
  CLI::App* verb = app.add_subcommand("outbox", "Shows and repairs outbox tables");
  verb->require_subcommand(1);
  auto options = std::make_shared<OutboxOptions>();
  const auto on = [&](CLI::App* sub, Work work) {
    sub->callback([options, work, &exit_code] { exit_code = with_session(*options, work); });
  };

  CLI::App* init_verb =
      add_verb(*verb, "init", "Prints the table's SQL, or creates it with --apply", options, false);
  init_verb->add_option("--dialect", options->dialect, "Which SQL to print without --url")
      ->check(CLI::IsMember({"sqlite", "postgres"}))
      ->capture_default_str();
  init_verb->add_flag("--apply", options->apply, "Create the table in the database of --url");
  init_verb->callback([options, &exit_code] { exit_code = init(*options); });

  CLI::App* status_verb = add_verb(*verb, "status", "Counts rows by state", options, true);
  status_verb->add_flag("--json", options->json, "For machines");
  on(status_verb, status);

  CLI::App* list_verb = add_verb(*verb, "list", "Lists rows that are not sent", options, true);
  list_verb->add_option("--state", options->state, "Only rows in this state")
      ->check(CLI::IsMember({"due", "waiting", "sent", "dead", "parked"}));
  list_verb->add_option("--limit", options->limit, "At most this many")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  list_verb->add_flag("--json", options->json, "One JSON object per line");
  on(list_verb, list);

  CLI::App* show_verb =
      add_verb(*verb, "show", "Shows rows with payload and headers", options, true);
  show_verb->add_option("ids", options->ids, "Row ids")->required();
  on(show_verb, show);

  CLI::App* retry_verb =
      add_verb(*verb, "retry", "Makes dead or waiting rows due again", options, true);
  retry_verb->add_option("ids", options->ids, "Row ids");
  retry_verb->add_flag("--dead", options->dead, "All dead rows");
  on(retry_verb, retry);

  CLI::App* discard_verb =
      add_verb(*verb, "discard", "Deletes rows that were never sent", options, true);
  discard_verb->add_option("ids", options->ids, "Row ids")->required();
  on(discard_verb, discard);

  verb->footer(
      "Examples:\n"
      "  drom outbox init --name orders --dialect postgres\n"
      "  drom outbox init --name orders --url shop.db --apply\n"
      "  drom outbox status --name orders --url postgresql://localhost/shop\n"
      "  drom outbox list --name orders --url shop.db --state dead\n"
      "  drom outbox retry --name orders --url shop.db --dead\n\n"
      "Exit codes: 0, 1 the database said no, 64 wrong call, 66 no such file.");
}

}  // namespace drom::cli
