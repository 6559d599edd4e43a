#include <algorithm>
#include <tuple>

#include "drom/config/location.hpp"

namespace drom {
namespace {

std::string line_of(const std::string& text, uint32_t number) {
  size_t start = 0;
  for (uint32_t line = 1; line < number; ++line) {
    const size_t end = text.find('\n', start);
    if (end == std::string::npos) return {};
    start = end + 1;
  }
  std::string line = text.substr(start, text.find('\n', start) - start);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

// Source lines are shown as they are, except what could play tricks with a terminal.
std::string printable(std::string line) {
  constexpr size_t kWidthMax = 160;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') c = '?';
  if (line.size() > kWidthMax) line = line.substr(0, kWidthMax) + "...";
  return line;
}

void append_source(std::string& out, const std::string& text, const Location& where) {
  const std::string line = printable(line_of(text, where.line));
  if (line.empty()) return;
  const std::string number = std::to_string(where.line);
  out += "  " + number + " | " + line + '\n';
  if (where.column == 0 || where.column > line.size() + 1) return;
  out += std::string(number.size() + 2, ' ') + " | ";
  for (uint32_t i = 1; i < where.column; ++i) out += line[i - 1] == '\t' ? '\t' : ' ';
  out += "^\n";
}

std::string counted(size_t n, const char* word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

bool same(const Diagnostic& a, const Diagnostic& b) {
  return a.code == b.code && a.what == b.what && a.where.line == b.where.line && a.where.column == b.where.column &&
         a.where.text() == b.where.text();
}

bool earlier(const Diagnostic& a, const Diagnostic& b) {
  const std::string_view file_a = a.where.file ? std::string_view(*a.where.file) : "";
  const std::string_view file_b = b.where.file ? std::string_view(*b.where.file) : "";
  return std::tie(file_a, a.where.line, a.where.column, a.what) < std::tie(file_b, b.where.line, b.where.column, b.what);
}

}  // namespace

std::string Location::text() const {
  if (!file) return {};
  std::string out = *file;
  if (line > 0) out += ':' + std::to_string(line);
  if (line > 0 && column > 0) out += ':' + std::to_string(column);
  return out;
}

void Diagnostics::add(Diagnostic item) {
  // One mistake can be met twice (an endpoint that two steps name); people need to read it once.
  for (const Diagnostic& known : items_)
    if (same(known, item)) return;
  if (item.severity == Severity::error) ++errors_;
  items_.push_back(std::move(item));
}

void Diagnostics::error(std::string code, Location where, std::string what, std::string hint) {
  add(Diagnostic{Severity::error, std::move(code), std::move(where), std::move(what), std::move(hint)});
}

void Diagnostics::warning(std::string code, Location where, std::string what, std::string hint) {
  add(Diagnostic{Severity::warning, std::move(code), std::move(where), std::move(what), std::move(hint)});
}

void Diagnostics::add_source(const std::string& file, std::string text) { sources_[file] = std::move(text); }

std::string Diagnostics::render() const {
  std::vector<Diagnostic> sorted = items_;
  std::sort(sorted.begin(), sorted.end(), earlier);
  std::string out;
  for (const Diagnostic& item : sorted) {
    out += item.severity == Severity::error ? "error" : "warning";
    out += '[' + item.code + "] ";
    if (const std::string place = item.where.text(); !place.empty()) out += place + ": ";
    out += item.what + '\n';
    if (item.where.file && item.where.line > 0) {
      const auto source = sources_.find(*item.where.file);
      if (source != sources_.end()) append_source(out, source->second, item.where);
    }
    if (!item.hint.empty()) out += "  hint: " + item.hint + '\n';
  }
  const size_t warnings = items_.size() - errors_;
  if (errors_ > 0) out += counted(errors_, "error");
  if (errors_ > 0 && warnings > 0) out += ", ";
  if (warnings > 0) out += counted(warnings, "warning");
  if (!items_.empty()) out += '\n';
  return out;
}

}  // namespace drom
