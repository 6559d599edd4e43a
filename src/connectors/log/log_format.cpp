#include "connectors/log/log_format.hpp"

#include <algorithm>

#include "drom/base/json.hpp"

namespace drom {
namespace {

constexpr std::string_view kMask = "xxxxx";

// Lower case without the signs that people put between words, so that api-key is apiKey.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == '.' || c == ' ') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return out;
}

// Cuts at a character border, not inside a UTF-8 sequence.
std::string shortened(std::string text, size_t max_chars) {
  if (max_chars == 0 || text.size() <= max_chars) return text;
  size_t end = max_chars;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  text += "...";
  return text;
}

Value masked(const Value& value);

Value masked(std::string_view name, const Value& value) {
  return names_secret(name) ? Value(kMask) : masked(value);
}

Value masked(const Value& value) {
  if (const Object* object = value.as_object()) {
    Object out;
    for (const auto& [name, member] : *object) out.append(name, masked(name, member));
    return Value(std::move(out));
  }
  if (const List* list = value.as_list()) {
    List out;
    for (const Value& item : *list) out.push_back(masked(item));
    return Value(std::move(out));
  }
  return value;
}

// {a=1, b=2}, sorted by name as Camel does.
template <class Entries>
std::string name_values(const Entries& entries) {
  std::vector<std::pair<std::string, std::string>> sorted;
  for (const auto& [name, value] : entries)
    sorted.emplace_back(name, value.is_null() ? "null" : masked(name, value).to_text());
  std::sort(sorted.begin(), sorted.end());
  std::string out = "{";
  for (const auto& [name, text] : sorted) {
    if (out.size() > 1) out += ", ";
    out += name + "=" + text;
  }
  return out + "}";
}

std::string body_text(const Value& body, const LogFormat& format) {
  if (body.is_null()) return "[Body is null]";
  std::string out;
  if (body.is_text() || body.is_bytes()) {
    // A large body is cut before it is copied.
    std::string_view raw = body.raw();
    if (format.max_chars > 0) raw = raw.substr(0, format.max_chars + 4);
    out = raw;
  } else {
    out = masked(body).to_text();
  }
  if (format.skip_body_line_separator)
    std::erase_if(out, [](char c) { return c == '\n' || c == '\r'; });
  return out;
}

}  // namespace

bool names_secret(std::string_view name) {
  const std::string text = folded(name);
  for (const std::string_view word :
       {"authorization", "cookie", "password", "passwd", "passphrase", "token", "secret", "apikey",
        "credential", "privatekey", "accesskey"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

std::vector<std::string> format_exchange(const Exchange& exchange, const LogFormat& format,
                                         std::string_view instance, std::string_view route) {
  if (format.plain) return {shortened(body_text(exchange.message.body, format), format.max_chars)};
  std::vector<std::string> fields;
  const auto add = [&](bool wanted, std::string_view label, auto text) {
    if (wanted || format.show_all) fields.push_back(std::string(label) + ": " + text());
  };
  const auto error_text = [](const std::unique_ptr<Error>& error) {
    return error ? std::string(to_string(error->kind)) + " " + error->message() : "null";
  };
  add(format.show_exchange_id, "Id",
      [&] { return std::string(instance) + "-" + std::to_string(exchange.serial); });
  add(format.show_exchange_pattern, "ExchangePattern", [&] {
    return std::string(exchange.pattern == ExchangePattern::in_out ? "InOut" : "InOnly");
  });
  add(format.show_route_id, "RouteId", [&] { return std::string(route); });
  add(format.show_properties, "Properties", [&] { return name_values(exchange.properties); });
  add(format.show_variables, "Variables", [&] { return name_values(exchange.variables); });
  add(format.show_headers, "Headers", [&] { return name_values(exchange.message.headers); });
  add(format.show_body_type, "BodyType",
      [&] { return std::string(to_string(exchange.message.body.kind())); });
  add(format.show_body, "Body", [&] { return body_text(exchange.message.body, format); });
  if (exchange.error)
    add(format.show_exception, "Exception", [&] { return error_text(exchange.error); });
  if (exchange.caught)
    add(format.show_caught_exception, "CaughtException",
        [&] { return error_text(exchange.caught); });

  if (format.multiline) {
    std::vector<std::string> lines{"Exchange["};
    for (std::string& field : fields)
      lines.push_back(shortened("  " + std::move(field), format.max_chars));
    lines.emplace_back("]");
    return lines;
  }
  std::string line;
  for (const std::string& field : fields) line += (line.empty() ? "" : ", ") + field;
  return {"Exchange[" + shortened(std::move(line), format.max_chars) + "]"};
}

}  // namespace drom
