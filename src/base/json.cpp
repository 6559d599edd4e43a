#include "drom/base/json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>

namespace drom {
namespace {

namespace json = boost::json;

// Builds a Value from parser events. Containers are kept on a stack, keys beside them.
class Builder {
 public:
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) {
    stack_.push_back(Frame{Value(Object()), {}, nullptr});
    return true;
  }
  bool on_object_end(size_t, json::error_code& ec) { return close(ec); }
  bool on_array_begin(json::error_code&) {
    stack_.push_back(Frame{Value(List()), {}, nullptr});
    return true;
  }
  bool on_array_end(size_t, json::error_code& ec) { return close(ec); }
  bool on_key_part(json::string_view s, size_t, json::error_code&) { return part(s); }
  bool on_key(json::string_view s, size_t, json::error_code& ec) {
    part(s);
    const Object& object = *stack_.back().container.as_object();
    // Looking up every key is quadratic; a hostile object of 100,000 keys must not cost seconds.
    if (object.size() < kLinearKeysMax ? object.find(text_) != nullptr
                                       : !seen(stack_.back(), text_)) {
      duplicate = text_;
      has_duplicate = true;
      ec = json::error::syntax;
      return false;
    }
    stack_.back().key = std::move(text_);
    text_.clear();
    return true;
  }
  bool on_string_part(json::string_view s, size_t, json::error_code&) { return part(s); }
  bool on_string(json::string_view s, size_t, json::error_code&) {
    part(s);
    Value value(std::move(text_));
    text_.clear();
    return put(std::move(value));
  }
  bool on_number_part(json::string_view s, json::error_code&) { return part(s); }
  bool on_int64(int64_t i, json::string_view, json::error_code&) {
    text_.clear();
    return put(Value(i));
  }
  bool on_uint64(uint64_t, json::string_view s, json::error_code&) { return number(s); }
  bool on_double(double, json::string_view s, json::error_code&) { return number(s); }
  bool on_bool(bool b, json::error_code&) { return put(Value(b)); }
  bool on_null(json::error_code&) { return put(Value()); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

  Value result;
  std::string duplicate;
  bool has_duplicate = false;

 private:
  static constexpr size_t kLinearKeysMax = 32;
  struct Frame {
    Value container;
    std::string key;
    std::shared_ptr<std::unordered_map<std::string, bool>> keys;  // large objects only
  };

  // True when the key is new.
  static bool seen(Frame& frame, const std::string& key) {
    if (!frame.keys) {
      frame.keys = std::make_shared<std::unordered_map<std::string, bool>>();
      for (const auto& [known, value] : *frame.container.as_object())
        frame.keys->emplace(known, true);
    }
    return frame.keys->emplace(key, true).second;
  }
  bool part(json::string_view s) {
    text_.append(s.data(), s.size());
    return true;
  }
  bool number(json::string_view s) {
    part(s);
    Value value(Decimal{std::move(text_)});
    text_.clear();
    return put(std::move(value));
  }
  bool close(json::error_code&) {
    Value value = std::move(stack_.back().container);
    stack_.pop_back();
    return put(std::move(value));
  }
  bool put(Value value) {
    if (stack_.empty()) {
      result = std::move(value);
    } else if (Frame& top = stack_.back(); top.container.is_object()) {
      top.container.object().append(std::move(top.key), std::move(value));
      top.key.clear();
    } else {
      top.container.list().push_back(std::move(value));
    }
    return true;
  }

  std::vector<Frame> stack_;
  std::string text_;
};

Error syntax_error(std::string what, size_t offset) {
  return Error(ErrorKind::data,
               "not valid JSON: " + std::move(what) + " at byte " + std::to_string(offset));
}

void append_escaped(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (u < 0x20) {
          constexpr char kHex[] = "0123456789abcdef";
          out += "\\u00";
          out += kHex[u >> 4];
          out += kHex[u & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void append_base64(std::string& out, std::string_view bytes) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < n ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) out += j <= n ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
  }
}

void newline(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * 2, ' ');
}

// `indent` < 0: compact.
void append(std::string& out, const Value& value, int indent) {
  const int inner = indent < 0 ? indent : indent + 1;
  switch (value.kind()) {
    case Value::Kind::null: out += "null"; return;
    case Value::Kind::boolean: out += *value.as_bool() ? "true" : "false"; return;
    case Value::Kind::integer: {
      char buffer[24];
      const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, *value.as_int());
      out.append(buffer, end);
      return;
    }
    case Value::Kind::real:
      // JSON knows no NaN and no infinity.
      out += std::isfinite(*value.as_real()) ? value.to_text() : "null";
      return;
    case Value::Kind::decimal: out += value.as_decimal()->digits; return;
    case Value::Kind::text: append_escaped(out, *value.as_text()); return;
    case Value::Kind::time:
      out += '"';
      out += to_iso8601(*value.as_time());
      out += '"';
      return;
    case Value::Kind::bytes:
      out += '"';
      append_base64(out, value.as_bytes()->view());
      out += '"';
      return;
    case Value::Kind::list: {
      const List& list = *value.as_list();
      out += '[';
      for (size_t i = 0; i < list.size(); ++i) {
        if (i > 0) out += ',';
        newline(out, inner);
        append(out, list[i], inner);
      }
      if (!list.empty()) newline(out, indent);
      out += ']';
      return;
    }
    case Value::Kind::object: {
      const Object& object = *value.as_object();
      out += '{';
      bool first = true;
      for (const auto& [key, item] : object) {
        if (!first) out += ',';
        first = false;
        newline(out, inner);
        append_escaped(out, key);
        out += indent < 0 ? ":" : ": ";
        append(out, item, inner);
      }
      if (!object.empty()) newline(out, indent);
      out += '}';
      return;
    }
  }
}

}  // namespace

Result<Value> parse_json(std::string_view text, size_t depth_max) {
  json::parse_options options;
  options.max_depth = depth_max;
  json::basic_parser<Builder> parser(options);
  json::error_code ec;
  const size_t used = parser.write_some(false, text.data(), text.size(), ec);
  Builder& builder = parser.handler();
  if (builder.has_duplicate)
    return syntax_error("the key '" + builder.duplicate + "' stands twice", used);
  if (ec == json::error::incomplete) return syntax_error("the text ends too early", text.size());
  if (ec == json::error::too_deep)
    return syntax_error("nested deeper than " + std::to_string(depth_max) + " levels", used);
  if (ec) return syntax_error(ec.message(), used);
  if (used != text.size()) return syntax_error("something follows the value", used);
  return std::move(builder.result);
}

std::string to_json(const Value& value) {
  std::string out;
  append(out, value, -1);
  return out;
}

void append_json(std::string& out, const Value& value) { append(out, value, -1); }

std::string to_json_pretty(const Value& value) {
  std::string out;
  append(out, value, 0);
  return out;
}

}  // namespace drom
