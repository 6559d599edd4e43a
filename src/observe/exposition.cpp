#include "observe/exposition.hpp"

#include <charconv>
#include <cmath>

namespace drom {
namespace {

// Backslash and line feed always, the quote in labels only: what the format asks for.
void append_escaped(std::string& out, std::string_view text, bool in_quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (in_quotes && c == '"')) out += '\\';
    out += c;
  }
}

void append_value(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
    return;
  }
  constexpr double kExact = 9007199254740992.0;  // beyond it not every integer is a double
  char text[32];
  const bool whole = std::abs(value) <= kExact && std::trunc(value) == value;
  const std::to_chars_result end =
      whole ? std::to_chars(text, text + sizeof text, static_cast<long long>(value))
            : std::to_chars(text, text + sizeof text, value);
  out.append(text, end.ptr);
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ");
  append_escaped(out_, help, false);
  out_.append("\n# TYPE ").append(name);
  out_ += name.ends_with("_total") ? " counter\n" : " gauge\n";
}

void Exposition::sample(const Labels& labels, double value) {
  out_ += name_;
  char before = '{';
  for (const auto& [label, text] : labels) {
    (out_ += before).append(label).append("=\"");
    append_escaped(out_, text, true);
    out_ += '"';
    before = ',';
  }
  if (!labels.empty()) out_ += '}';
  out_ += ' ';
  append_value(out_, value);
  out_ += '\n';
}

}  // namespace drom
