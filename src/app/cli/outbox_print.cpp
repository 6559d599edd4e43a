#include "app/cli/outbox_print.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "drom/base/json.hpp"
#include "observe/spd_log.hpp"

namespace drom::cli {
namespace {

constexpr size_t kCellMax = 40;
constexpr size_t kErrorMax = 80;

using Row = std::vector<std::string>;

// Cut at a character, not inside of one.
std::string cut(std::string text, size_t width_max) {
  if (text.size() <= width_max) return text;
  size_t end = width_max - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Columns as wide as their widest cell; the last one is not padded.
void print_table(const std::vector<Row>& rows) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width_of(row[i]) + 2, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    std::printf("%s\n", line.c_str());
  }
}

std::string cell(const Object& row, const char* column, size_t width_max = kCellMax) {
  const Value* value = row.find(column);
  return value ? cut(escape_controls(value->to_text()), width_max) : std::string();
}

// To the two largest units: 3d4h, 12m5s, 40ms.
std::string rough(milliseconds age) {
  constexpr std::array<int64_t, 4> kUnits = {86'400'000, 3'600'000, 60'000, 1000};
  for (size_t i = 0; i < kUnits.size(); ++i)
    if (age.count() >= kUnits[i]) {
      const int64_t small = kUnits[std::min(i + 1, kUnits.size() - 1)];
      return to_string(milliseconds(age.count() / small * small));
    }
  return to_string(age);
}

std::string age_of(const Object& row, WallTime now) {
  const Value* value = row.find("created_at");
  if (!value || value->is_null()) return "";
  const WallTime* time = value->as_time();
  Result<WallTime> parsed = time ? Result<WallTime>(*time) : parse_iso8601(value->to_text());
  if (!parsed) return cut(value->to_text(), 24);
  const auto age = std::chrono::duration_cast<milliseconds>(now - *parsed);
  return rough(std::max(milliseconds(0), age));
}

Value ms_or_null(const std::optional<milliseconds>& duration) {
  return duration ? Value(int64_t{duration->count()}) : Value();
}

void print_log(const outbox::LogStatus& log) {
  std::printf(
      "the log tables take %lld KB, delivered rows included; the states are of rows on hold\n",
      static_cast<long long>((log.bytes + 1023) / 1024));
  if (log.relay.empty())
    std::printf("no relay reads the log\n");
  else
    std::printf("relay %s reads the log\n", escape_controls(log.relay).c_str());
}

const char* label(outbox::Finding::Level level) {
  switch (level) {
    case outbox::Finding::Level::ok: return "ok";
    case outbox::Finding::Level::warning: return "warning";
    case outbox::Finding::Level::error: return "error";
  }
  return "";
}

}  // namespace

void print_status(const outbox::Status& status) {
  std::vector<Row> rows;
  for (const std::string& state : outbox::states()) {
    Row row{state, std::to_string(status.count(state))};
    if (state == "due" && status.oldest_due) row.push_back("oldest " + rough(*status.oldest_due));
    rows.push_back(std::move(row));
  }
  for (const auto& [state, count] : status.counts)
    if (std::ranges::find(outbox::states(), state) == outbox::states().end())
      rows.push_back({escape_controls(state), std::to_string(count)});
  if (status.log) {
    Row row{"in the log", std::to_string(status.log->due)};
    if (status.log->oldest) row.push_back("oldest " + rough(*status.log->oldest));
    rows.insert(rows.begin(), std::move(row));
  }
  print_table(rows);
  if (status.log) print_log(*status.log);
  if (status.relays.empty()) std::printf("no relay holds a lease\n");
  for (const auto& relay : status.relays)
    std::printf("relay %s holds %lld buckets\n", escape_controls(relay.owner).c_str(),
                static_cast<long long>(relay.buckets));
  if (status.backlog.holder)
    std::printf("process %lld has had a transaction open for %s (%s): %s\n",
                static_cast<long long>(status.backlog.holder->pid),
                rough(status.backlog.holder->age).c_str(), status.backlog.holder->state.c_str(),
                cut(escape_controls(status.backlog.holder->query), kErrorMax).c_str());
}

void print_rows(const std::vector<Object>& rows, WallTime now) {
  std::vector<Row> table{{"ID", "STATE", "TYPE", "KEY", "ATTEMPTS", "AGE", "LAST ERROR"}};
  for (const Object& row : rows)
    table.push_back({cell(row, "id"), cell(row, "state"), cell(row, "type"), cell(row, "key"),
                     cell(row, "attempts"), age_of(row, now), cell(row, "last_error", kErrorMax)});
  print_table(table);
}

void print_findings(const std::vector<outbox::Finding>& findings) {
  std::vector<Row> table;
  for (const outbox::Finding& finding : findings) {
    table.push_back({label(finding.level), finding.check, escape_controls(finding.what)});
    if (!finding.advice.empty()) table.push_back({"", "", "-> " + finding.advice});
  }
  print_table(table);
}

void print_json(Value value) { std::printf("%s\n", to_json(value).c_str()); }

Value to_value(const outbox::Status& status) {
  Object out;
  for (const std::string& state : outbox::states()) out.append(state, status.count(state));
  for (const auto& [state, count] : status.counts) out.set(state, count);
  out.append("oldest_due_ms", ms_or_null(status.oldest_due));
  List relays;
  for (const auto& relay : status.relays) {
    Object entry;
    entry.append("owner", relay.owner);
    entry.append("buckets", relay.buckets);
    relays.emplace_back(std::move(entry));
  }
  out.append("relays", std::move(relays));
  List buckets;
  for (const auto& lag : status.backlog.lags) {
    Object entry;
    entry.append("bucket", lag.bucket);
    entry.append("due", lag.due);
    entry.append("oldest_id", lag.oldest_id);
    entry.append("oldest_ms", ms_or_null(lag.oldest));
    buckets.emplace_back(std::move(entry));
  }
  out.append("buckets", std::move(buckets));
  Value holder;
  if (status.backlog.holder) {
    Object entry;
    entry.append("pid", status.backlog.holder->pid);
    entry.append("age_ms", int64_t{status.backlog.holder->age.count()});
    entry.append("state", status.backlog.holder->state);
    entry.append("query", status.backlog.holder->query);
    holder = std::move(entry);
  }
  out.append("open_transaction", std::move(holder));
  if (!status.log) return out;
  Object log;
  log.append("due", status.log->due);
  log.append("oldest_due_ms", ms_or_null(status.log->oldest));
  log.append("relay", status.log->relay.empty() ? Value() : Value(status.log->relay));
  log.append("bytes", status.log->bytes);
  out.append("log", std::move(log));
  return out;
}

Value to_value(const outbox::Finding& finding) {
  Object out;
  out.append("level", label(finding.level));
  out.append("check", finding.check);
  out.append("what", finding.what);
  out.append("advice", finding.advice.empty() ? Value() : Value(finding.advice));
  return out;
}

}  // namespace drom::cli
