#include <algorithm>
#include <tuple>

#include "config/secrets.hpp"
#include "config/source_text.hpp"
#include "config/utf8.hpp"
#include "drom/config/location.hpp"

namespace drom {
namespace {

constexpr size_t kShownMax = 100;
constexpr size_t kLineCharactersMax = 160;

// Texts of route files reach a terminal: no control characters, nothing that is no UTF-8.
std::string printable(std::string_view wild) {
  std::string text(wild);
  for (size_t from = 0; from < text.size();) {
    const size_t invalid = find_invalid_utf8(std::string_view(text).substr(from));
    if (invalid == std::string_view::npos) break;
    from += invalid;
    text[from] = '?';
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.replace(0, kByteOrderMark.size(), "?");
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += c == '\t' ? ' ' : '?';
    } else {
      out += c;
    }
  }
  return out;
}

size_t byte_of_character(std::string_view text, size_t character) {
  size_t at = 0;
  while (at < text.size() && character > 0) {
    ++at;
    while (at < text.size() && is_utf8_tail(text[at])) ++at;
    --character;
  }
  return at;
}

// "   14 |   topc: orders" and the caret below. Long lines are cut around the column.
void append_line(std::string& out, std::string_view line, const Location& where) {
  std::string text = printable(mask_secrets(line));
  const size_t characters = count_characters(text);
  size_t column = where.column > 0 ? where.column - 1 : 0;
  if (column > characters) column = characters;
  if (characters > kLineCharactersMax) {
    const size_t from = column > kLineCharactersMax / 2 ? column - kLineCharactersMax / 2 : 0;
    text = text.substr(byte_of_character(text, from));
    text.resize(byte_of_character(text, kLineCharactersMax));
    column -= from;
  }
  std::string number = std::to_string(where.line);
  number.insert(0, number.size() < 5 ? 5 - number.size() : 0, ' ');
  out += number + " | " + text + "\n";
  if (where.column > 0) out += std::string(5, ' ') + " | " + std::string(column, ' ') + "^\n";
}

std::string counted(size_t n, const char* word) {
  return std::to_string(n) + " " + word + (n == 1 ? "" : "s");
}

// One mistake can be met twice (an endpoint that two steps name); people need to read it once.
bool same(const Diagnostic& a, const Diagnostic& b) {
  return a.code == b.code && a.what == b.what && a.where.text() == b.where.text();
}

}  // namespace

std::string Location::text() const {
  if (!file) return {};
  std::string out = *file;
  if (line == 0) return out;
  out += ':' + std::to_string(line);
  if (column > 0) out += ':' + std::to_string(column);
  return out;
}

void Diagnostics::add(Diagnostic problem) {
  if (problem.severity == Severity::error) ++errors_;
  problem.what = mask_secrets(problem.what);
  problem.hint = mask_secrets(problem.hint);
  items_.push_back(std::move(problem));
}

void Diagnostics::error(std::string code, Location where, std::string what, std::string hint) {
  add({Severity::error, std::move(code), std::move(where), std::move(what), std::move(hint)});
}

void Diagnostics::warning(std::string code, Location where, std::string what, std::string hint) {
  add({Severity::warning, std::move(code), std::move(where), std::move(what), std::move(hint)});
}

void Diagnostics::add_source(std::string file, std::string text) {
  sources_[std::move(file)] = std::make_shared<const std::string>(std::move(text));
}

Location Diagnostics::inside(const Location& where, std::string_view text, size_t offset) const {
  if (!where.file) return where;
  const auto source = sources_.find(*where.file);
  if (source == sources_.end()) return where;
  const auto place =
      SourceText(*source->second).inside_scalar({where.line, where.column}, text, offset);
  if (!place) return where;
  Location out = where;
  out.line = place->line;
  out.column = place->column;
  return out;
}

std::string Diagnostics::render() const {
  // By place; files in the order in which they appear.
  std::vector<const Diagnostic*> sorted;
  std::map<std::string_view, size_t> files;
  const auto file_of = [](const Diagnostic& item) {
    return item.where.file ? std::string_view(*item.where.file) : std::string_view();
  };
  for (const Diagnostic& item : items_) {
    files.emplace(file_of(item), files.size());
    sorted.push_back(&item);
  }
  std::sort(sorted.begin(), sorted.end(), [&](const Diagnostic* a, const Diagnostic* b) {
    const auto key = [&](const Diagnostic& item) {
      return std::tuple(files.at(file_of(item)), item.where.line, item.where.column,
                        std::string_view(item.what), &item);
    };
    return key(*a) < key(*b);
  });

  sorted.erase(std::unique(sorted.begin(), sorted.end(),
                           [](const Diagnostic* a, const Diagnostic* b) { return same(*a, *b); }),
               sorted.end());

  std::map<std::string_view, SourceText> texts;
  std::string out;
  size_t errors = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Diagnostic& item = *sorted[i];
    errors += item.severity == Severity::error ? 1 : 0;
    if (i >= kShownMax) continue;
    out += item.severity == Severity::error ? "error[" : "warning[";
    out += item.code + "] ";
    const std::string place = item.where.text();
    if (!place.empty()) out += place + ": ";
    out += printable(item.what) + "\n";
    const auto source = sources_.find(file_of(item));
    if (source != sources_.end() && item.where.line > 0 && !item.secret) {
      const SourceText& text = texts.try_emplace(source->first, *source->second).first->second;
      append_line(out, text.line(item.where.line), item.where);
    }
    if (!item.hint.empty()) out += "  hint: " + printable(item.hint) + "\n";
  }
  if (sorted.size() > kShownMax) out += "... and more, not shown\n";
  const size_t warnings = sorted.size() - errors;
  if (errors > 0) out += counted(errors, "error");
  if (errors > 0 && warnings > 0) out += ", ";
  if (warnings > 0) out += counted(warnings, "warning");
  if (!sorted.empty()) out += '\n';
  return out;
}

}  // namespace drom
