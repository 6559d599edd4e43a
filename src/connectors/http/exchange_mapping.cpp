#include "connectors/http/exchange_mapping.hpp"

#include <algorithm>
#include <functional>

#include "drom/base/json.hpp"

namespace drom::http {
namespace {

constexpr size_t kErrorTextMax = 500;
constexpr size_t kQueryParametersMax = 100;

uint64_t mark(const Headers::Entry& entry) {
  const std::hash<std::string_view> hash;
  const Value& value = entry.second;
  const uint64_t of_value = value.is_text() ? hash(value.raw()) : hash(value.to_text());
  return hash(entry.first) * 0x9E3779B97F4A7C15u + of_value;
}

// Names that a link may not choose: the answer takes its media type and coding from them.
bool is_content_header(std::string_view name) {
  return name.size() >= 8 && iequals(name.substr(0, 8), "Content-");
}

bool add_query(Headers& headers, std::string_view query) {
  size_t count = 0;
  while (!query.empty()) {
    if (++count > kQueryParametersMax) return false;
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const size_t equals = pair.find('=');
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1), true);
    if (!name || !value) return false;
    if (name->empty() || is_engine_header(*name) || is_content_header(*name)) continue;
    if (!headers.find(*name)) headers.append(std::move(*name), Value(std::move(*value)));
  }
  return true;
}

std::optional<int> response_code(const Headers& headers) {
  const Value* value = headers.find("CamelHttpResponseCode");
  if (!value) return std::nullopt;
  const auto code = value->to_int();
  return code && *code >= 200 && *code <= 599 ? static_cast<int>(*code) : 500;
}

void append_answer_headers(std::string& out, const Headers& headers, const RequestMarks& request,
                           const AnswerRules& rules, Log& log) {
  for (const Headers::Entry& entry : headers) {
    const bool unchanged = request.has(entry);
    if (unchanged && !rules.return_request_headers) continue;
    if (is_engine_header(entry.first) || is_transport_header(entry.first) ||
        iequals(entry.first, "Content-Type"))
      continue;
    if (!append_header(out, entry.first, entry.second))
      log.warn("http", "the header '" + entry.first + "' cannot be sent: bad characters");
  }
}

// JSON for lists and objects whatever the request had; else what the message says, else what the
// route produces, else what the body is.
void append_content_type(std::string& out, const Headers& headers, const RequestMarks& request,
                         bool structured, std::string_view by_body, const AnswerRules& rules) {
  for (const Headers::Entry& entry : headers) {
    if (!iequals(entry.first, "Content-Type") || (structured && request.has(entry))) continue;
    if (append_header(out, "Content-Type", entry.second)) return;
  }
  // A pattern or a list is no media type of one answer.
  const bool one =
      !rules.produces.empty() && rules.produces.find_first_of(",*") == std::string_view::npos;
  out.append("Content-Type: ").append(one ? rules.produces : by_body).append("\r\n");
}

struct Failure {
  int status;
  std::string_view message;  // empty: the error's own
  bool retry;
};

// What a client may know. Only errors of its own data are told in words.
Failure failure_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::data: return {400, "", false};
    case ErrorKind::rejected: return {422, "the request was refused", false};
    case ErrorKind::transient:
    case ErrorKind::timeout:
    case ErrorKind::not_connected:
    case ErrorKind::cancelled: return {503, "temporarily not available, try again", true};
    default: return {500, "internal error", false};
  }
}

void append_retry_after(std::string& out, milliseconds wait) {
  const auto seconds = std::max<int64_t>(1, std::chrono::ceil<std::chrono::seconds>(wait).count());
  out += "Retry-After: " + std::to_string(seconds) + "\r\n";
}

}  // namespace

void RequestMarks::note(const Headers& headers) {
  marks_.clear();
  for (const Headers::Entry& entry : headers) marks_.push_back(mark(entry));
}

bool RequestMarks::has(const Headers::Entry& entry) const {
  return std::find(marks_.begin(), marks_.end(), mark(entry)) != marks_.end();
}

bool fill_message(Message& message, Request& request, Router::Parameters& parameters,
                  std::string_view scheme) {
  Headers& headers = message.headers;
  headers = std::move(request.headers);
  headers.reserve(headers.size() + parameters.size() + 8);
  for (auto& [name, value] : parameters)
    if (!is_engine_header(name) && !headers.find(name))
      headers.append(std::move(name), Value(std::move(value)));
  if (!add_query(headers, request.query)) return false;
  headers.append("CamelHttpMethod", Value(to_string(request.method)));
  headers.append("CamelHttpPath", Value(request.path));
  headers.append("CamelHttpQuery", Value(request.query));
  headers.append("CamelHttpUri", Value(request.target));
  std::string url(scheme);
  url.append("://").append(request.host).append(request.target);
  headers.append("CamelHttpUrl", Value(std::move(url)));
  message.stream = std::move(request.stream);
  if (request.has_body && !message.stream) message.body = Value(Bytes(std::move(request.body)));
  return true;
}

void write_answer(Answer& out, Message message, const RequestMarks& request,
                  const AnswerRules& rules, Log& log) {
  const bool structured = message.body.is_list() || message.body.is_object();
  WireBody wire = to_wire_body(std::move(message.body));
  out.body = std::move(wire.body);
  out.stream = std::move(message.stream);
  if (out.stream) wire.content_type = "application/octet-stream";
  out.lines.clear();
  const bool empty = !out.stream && out.body.raw().empty();
  out.status = response_code(message.headers).value_or(empty ? 204 : 200);
  append_answer_headers(out.lines, message.headers, request, rules, log);
  if (!empty)
    append_content_type(out.lines, message.headers, request, structured, wire.content_type, rules);
}

void write_failure(Answer& out, const Error& error, std::string_view id, const AnswerRules& rules) {
  const Failure failure = failure_of(error.kind);
  out.stream = nullptr;
  out.status = failure.status;
  out.lines = "Content-Type: application/json\r\n";
  if (failure.retry)
    append_retry_after(out.lines, error.retry_after.value_or(std::chrono::seconds(1)));
  Object details;
  details.append("kind", Value(to_string(error.kind)));
  if (!failure.message.empty()) {
    details.append("message", Value(failure.message));
  } else {
    details.append("message", Value(rules.mute_exception ? "the request cannot be processed"
                                                         : error.what.substr(0, kErrorTextMax)));
  }
  details.append("exchangeId", Value(id));
  Object body;
  body.append("error", Value(std::move(details)));
  out.body = Value(to_json(Value(std::move(body))));
}

void write_unavailable(Answer& out) {
  write_failure(out, Error(ErrorKind::cancelled, "given back"), "", AnswerRules());
}

}  // namespace drom::http
