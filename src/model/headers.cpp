#include "drom/model/headers.hpp"

namespace drom {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && iequals(text.substr(0, prefix.size()), prefix);
}

}  // namespace

bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

const Value* Headers::find(std::string_view name) const {
  for (const Entry& entry : entries_)
    if (iequals(entry.first, name)) return &entry.second;
  return nullptr;
}

std::string_view Headers::text(std::string_view name) const {
  const Value* value = find(name);
  return value ? value->raw() : std::string_view();
}

void Headers::set(std::string_view name, Value value) {
  for (Entry& entry : entries_) {
    if (!iequals(entry.first, name)) continue;
    entry.second = std::move(value);
    return;
  }
  entries_.emplace_back(std::string(name), std::move(value));
}

void Headers::append(std::string name, Value value) {
  entries_.emplace_back(std::move(name), std::move(value));
}

bool Headers::erase(std::string_view name) {
  return std::erase_if(entries_, [&](const Entry& entry) { return iequals(entry.first, name); }) >
         0;
}

bool has_header_injection(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

bool is_private_header(std::string_view name) {
  static constexpr std::string_view kNames[] = {"authorization",
                                                "proxy-authorization",
                                                "cookie",
                                                "set-cookie",
                                                "x-api-key",
                                                "host",
                                                "connection",
                                                "keep-alive",
                                                "content-length",
                                                "transfer-encoding",
                                                "te",
                                                "trailer",
                                                "upgrade",
                                                "expect",
                                                "user-agent",
                                                "accept",
                                                "accept-encoding",
                                                "accept-language",
                                                "accept-charset",
                                                "content-encoding",
                                                "origin",
                                                "referer"};
  for (const std::string_view known : kNames)
    if (iequals(name, known)) return true;
  return false;
}

bool is_engine_header(std::string_view name) {
  if (starts_with_ignoring_case(name, "Camel") ||
      starts_with_ignoring_case(name, "org.apache.camel"))
    return true;
  for (const std::string_view prefix : {"drom.", "kafka.", "rabbitmq.", "amqp.", "redis.", "nats.",
                                        "outbox.", "http.", "file.", "sql."})
    if (starts_with_ignoring_case(name, prefix)) return true;
  return false;
}

}  // namespace drom
