#include "expr/text_tools.hpp"

#include "expr/scan.hpp"

namespace drom::expr {
namespace {

Error too_large() {
  return Error(ErrorKind::data,
               "the text would be larger than " + std::to_string(kBuiltTextMax) + " bytes");
}

}  // namespace

std::string_view trimmed(std::string_view text) { return Piece{text}.trimmed().text; }

Result<Value> replace_all(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return Value(text);
  std::string out;
  size_t start = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, start)) {
    out.append(text, start, at - start);
    out += to;
    start = at + from.size();
    if (out.size() > kBuiltTextMax) return too_large();
  }
  out.append(text, start, std::string_view::npos);
  return Value(std::move(out));
}

Result<Value> repeated(std::string_view text, int64_t times) {
  if (times < 0) return Error(ErrorKind::data, "a text is repeated a positive number of times");
  if (times > 0 && text.size() > kBuiltTextMax / static_cast<size_t>(times)) return too_large();
  std::string out;
  out.reserve(text.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) out += text;
  return Value(std::move(out));
}

}  // namespace drom::expr
