#include "eip/uri_template.hpp"

#include "spi/step_support.hpp"

namespace drom {
namespace {

// The end of "${...}" that begins at `begin`, nested braces counted; npos when it never ends.
size_t expression_end(std::string_view text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

void append_escaped(std::string& out, std::string_view value, std::string_view separators) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : value) {
    if (separators.find(c) == std::string_view::npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

// The URI and its parameters as one text.
std::string whole_uri(std::string_view uri, const std::vector<OptionText>& parameters,
                      BuildContext& context) {
  std::string out(uri);
  bool query = out.find('?') != std::string::npos;
  for (const OptionText& parameter : parameters) {
    const auto value = resolve_placeholders(parameter.text, context.properties(), parameter.where,
                                            context.diagnostics());
    if (!value) continue;
    out += query ? '&' : '?';
    query = true;
    out += parameter.name + '=';
    // Written by the author of the route, but it is still one value: its own separators are escaped
    // outside of ${...}.
    size_t at = 0;
    while (at < value->size()) {
      const size_t begin = value->find("${", at);
      append_escaped(out, std::string_view(*value).substr(at, begin - at), "%&#+");
      if (begin == std::string::npos) break;
      const size_t end = expression_end(*value, begin);
      out.append(*value, begin, end == std::string::npos ? end : end - begin);
      at = end;
    }
  }
  return out;
}

}  // namespace

std::string_view UriTemplate::separators(Place place) {
  switch (place) {
    // A whole URI with its options: allowedSchemes is its guard.
    case Place::start: return "";
    case Place::path: return "?";
    // Query values are decoded by the reader of the URI, so that they arrive as they were; brackets
    // keep RAW(...) and ${...} from being taken for more than data.
    case Place::query: return "%&#+(){}";
  }
  return "";
}

std::string_view scheme_of(std::string_view uri) {
  const size_t colon = uri.find(':');
  return colon == std::string_view::npos ? std::string_view() : uri.substr(0, colon);
}

std::optional<UriTemplate> UriTemplate::compile(std::string_view uri,
                                                const std::vector<OptionText>& parameters,
                                                const Location& where, BuildContext& context) {
  const std::string text = whole_uri(uri, parameters, context);
  UriTemplate out;
  bool in_query = false;
  for (size_t at = 0; at < text.size();) {
    size_t begin = text.find("${", at);
    if (begin == std::string::npos) begin = text.size();
    if (begin > at) {
      Piece literal{text.substr(at, begin - at), nullptr, Place::path};
      in_query = in_query || literal.literal.find('?') != std::string::npos;
      out.pieces_.push_back(std::move(literal));
    }
    if (begin == text.size()) break;
    const size_t end = expression_end(text, begin);
    if (end == std::string::npos) {
      context.diagnostics().error("E0501", where, "'${' is never closed", "add the missing '}'");
      return std::nullopt;
    }
    Piece piece;
    piece.expression =
        compile_template(std::string_view(text).substr(begin, end - begin), where, context);
    if (!piece.expression) return std::nullopt;
    piece.place = in_query ? Place::query : out.pieces_.empty() ? Place::start : Place::path;
    out.pieces_.push_back(std::move(piece));
    at = end;
  }
  if (!out.pieces_.empty() && !out.pieces_.front().expression)
    out.scheme_ = scheme_of(out.pieces_.front().literal);
  return out;
}

Result<std::string> UriTemplate::fill(const Exchange& exchange, const EvalScope& scope) const {
  std::string out;
  for (const Piece& piece : pieces_) {
    if (!piece.expression) {
      out += piece.literal;
      continue;
    }
    Result<Value> value = piece.expression->evaluate(exchange, scope);
    if (!value) return std::move(value.error());
    append_escaped(out, value->to_text(), separators(piece.place));
  }
  return out;
}

}  // namespace drom
