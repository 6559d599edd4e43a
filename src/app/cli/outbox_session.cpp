#include "app/cli/outbox_session.hpp"

#include <cstdio>
#include <filesystem>

#include "config/properties.hpp"
#include "connectors/outbox/outbox_endpoint.hpp"
#include "engine/uri.hpp"
#include "observe/spd_log.hpp"

namespace drom::cli {
namespace {

EngineOptions quiet() {
  EngineOptions out;
  out.log = make_log(LogLevel::error, LogFormat::text);
  return out;
}

Result<OutboxTarget> target_of_uri(const std::string& uri) {
  const EndpointUri parts = split_uri(uri);
  if (parts.scheme != "outbox")
    return Error(ErrorKind::config, "'" + uri + "' is no URI of an outbox",
                 "write it as in the route, like 'outbox:orders?format=mapped&idColumn=Id'");
  std::vector<OptionText> options;
  OptionText name;
  name.name = "name";
  name.text = parts.path;
  options.push_back(std::move(name));
  for (const auto& [key, value] : parts.query) {
    OptionText option;
    option.name = key;
    option.text = value;
    options.push_back(std::move(option));
  }
  Diagnostics problems;
  const Config config = Config::validate(outbox::endpoint_spec(), options, Location{},
                                         PropertyTable(nullptr), problems);
  if (problems.has_errors())
    return Error(ErrorKind::config, problems.items().front().what, problems.items().front().hint);
  Result<outbox::OutboxOptions> read = outbox::read_options(config);
  if (!read) return std::move(read.error());
  return OutboxTarget{outbox::shape_of(*read), read->sent, read->mode, read->cdc};
}

}  // namespace

int complain(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  return kFailed;
}

sql::Dialect dialect_of(const std::string& url) {
  if (url.starts_with("mysql://") || url.starts_with("mariadb://")) return sql::Dialect::mysql;
  if (url.starts_with("postgres://") || url.starts_with("postgresql://") ||
      url.find("host=") != std::string::npos)
    return sql::Dialect::postgres;
  return sql::Dialect::sqlite;
}

Result<OutboxTarget> outbox_target(const OutboxPlace& place) {
  if (!place.uri.empty()) return target_of_uri(place.uri);
  Result<std::string> table =
      place.table.empty() ? outbox::default_table(place.name) : outbox::checked_table(place.table);
  if (!table) return std::move(table.error());
  if (place.mode != "claim")
    return target_of_uri("outbox:any?table=" + *table + "&mode=" + place.mode);
  return OutboxTarget{outbox::own_shape(std::move(*table)), outbox::SentPolicy::mark, {}, {}};
}

OutboxSession::OutboxSession() : app_(quiet()) {}

std::unique_ptr<OutboxSession> OutboxSession::open(const std::string& url, bool create,
                                                   int& exit_code) {
  const sql::Dialect dialect = dialect_of(url);
  const bool file = dialect == sql::Dialect::sqlite;
  if (file && !create && !std::filesystem::exists(url)) {
    std::fprintf(stderr, "error: no such database file: %s\n", url.c_str());
    exit_code = kNoInput;
    return nullptr;
  }
  auto session = std::make_unique<OutboxSession>();
  session->app_.routes().bean("db", "drom." + std::string(sql::to_string(dialect)),
                              {{file ? "file" : "url", url}});
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

}  // namespace drom::cli
