#include "connectors/http/outgoing.hpp"

#include "connectors/http/content_coding.hpp"
#include "connectors/http/multipart.hpp"

namespace drom::http {
namespace {

constexpr size_t kKeyMax = 256;

// Without a copy; good as long as `body` is unchanged.
Value view_of(const Value& body) { return Value(Bytes(nullptr, body.raw())); }

bool is_credential(std::string_view name) {
  return iequals(name, "Authorization") || iequals(name, "Cookie");
}

bool has_body(const ProducerOptions& options, std::string_view method) {
  if (method == "GET") return options.get_with_body;
  if (method == "DELETE") return options.delete_with_body;
  return method == "POST" || method == "PUT" || method == "PATCH";
}

bool is_content_header(std::string_view name) {
  return name.size() > 8 && iequals(name.substr(0, 8), "Content-");
}

Result<std::string> evaluate(const ExpressionPtr& expression, const Exchange& exchange,
                             const Scope& scope) {
  if (!expression) return std::string();
  Result<Value> value = expression->evaluate(exchange, scope.eval());
  if (!value) return std::move(value.error());
  return value->to_text();
}

Result<void> make_multipart(const ProducerOptions& options, const Exchange& exchange, Scope& scope,
                            Outgoing& out) {
  Result<std::string> file_name = evaluate(options.multipart_file_name, exchange, scope);
  if (!file_name) return std::move(file_name.error());
  const std::string_view type = exchange.message.headers.text("Content-Type");
  MultipartBody form =
      write_multipart(exchange.message.body, options.multipart_name, *file_name, type, scope.rng);
  out.body = Value(Bytes(std::move(form.body)));
  out.content_type = std::move(form.content_type);
  out.own_type = true;
  return {};
}

}  // namespace

Result<Outgoing> begin_request(const ProducerOptions& options, const Exchange& exchange,
                               Scope& scope) {
  Outgoing out;
  out.client = &options.client;
  out.path = options.url.path;
  const Value& body = exchange.message.body;
  out.method = options.method;
  BodyStream* const stream = exchange.message.stream.get();
  const bool empty =
      !stream && (body.is_null() || ((body.is_text() || body.is_bytes()) && body.raw().empty()));
  if (out.method.empty() && !options.upload_directory.empty()) out.method = "POST";
  if (out.method.empty()) out.method = empty ? "GET" : "POST";
  out.takes_body = has_body(options, out.method);
  Result<std::string> key = evaluate(options.idempotency_key, exchange, scope);
  if (!key) return std::move(key.error());
  if (key->size() > kKeyMax || has_header_injection(*key))
    return Error(ErrorKind::data, "idempotencyKey gives no fit key",
                 "it must be 1 to 256 characters without line breaks");
  out.idempotency_key = std::move(*key);
  if (!out.takes_body) return out;
  if (!options.upload_directory.empty()) {
    out.content_type = "application/octet-stream";
    return out;
  }
  if (stream) {
    out.source = stream;
    out.content_type = "application/octet-stream";
    return out;
  }
  if (options.multipart) {
    Result<void> made = make_multipart(options, exchange, scope, out);
    if (!made) return std::move(made.error());
    return out;
  }
  if (body.is_text()) {
    out.body = view_of(body);
    out.content_type = kTextType;
    return out;
  }
  WireBody wire = to_wire_body(body);
  out.body = std::move(wire.body);
  out.content_type = wire.content_type;
  return out;
}

WireRequest write_request(const ProducerOptions& options, const Outgoing& out,
                          const Headers& headers, std::string_view authorization, Scope& scope) {
  WireRequest wire;
  wire.body = view_of(out.body);
  if (out.takes_body) wire.source = out.source;
  wire.sink = out.sink;
  if (options.stream_answers)
    wire.streams = [&options](int status) { return options.is_ok(status); };
  wire.chunked = out.takes_body && (options.chunked || (out.source && !out.source->size()));
  wire.head_only = out.method == "HEAD";
  wire.idempotent = is_repeatable(out.method) || !out.idempotency_key.empty();
  const ClientOptions& client = *out.client;
  const std::string authority = client.target.authority();
  std::string& head = wire.head;
  head.reserve(512);
  head.append(out.method).append(" ");
  if (client.asks_proxy()) head.append("http://").append(authority);
  head.append(out.path).append(" HTTP/1.1\r\nHost: ").append(authority).append("\r\n");
  bool typed = out.own_type;
  bool agent = !options.user_agent.empty();
  bool keyed = !out.idempotency_key.empty();
  for (const Headers::Entry& entry : headers) {
    const std::string& name = entry.first;
    if (options.skip_request_headers) break;
    if (is_engine_header(name) || is_transport_header(name) || iequals(name, "Accept-Encoding"))
      continue;
    if (is_credential(name) && (!options.forward_credentials || !out.credentials)) continue;
    if (!authorization.empty() && iequals(name, "Authorization")) continue;
    if (is_content_header(name) &&
        (!out.takes_body || (out.own_type && iequals(name, "Content-Type"))))
      continue;
    if (agent && iequals(name, "User-Agent")) continue;
    if (keyed && iequals(name, "Idempotency-Key")) continue;
    if (!append_header(head, name, entry.second)) {
      scope.log.warn(scope.route, "the header '" + name + "' cannot be sent to " + options.uri +
                                      ": its name or value does not fit on the wire");
      continue;
    }
    typed = typed || iequals(name, "Content-Type");
    agent = agent || iequals(name, "User-Agent");
  }
  if (!authorization.empty()) head.append("Authorization: ").append(authorization).append("\r\n");
  if (client.asks_proxy() && !client.proxy->authorization.empty())
    head.append("Proxy-Authorization: ").append(client.proxy->authorization).append("\r\n");
  if (!options.user_agent.empty())
    head.append("User-Agent: ").append(options.user_agent).append("\r\n");
  else if (!agent)
    head += "User-Agent: drom/" DROM_VERSION "\r\n";
  if (keyed) head.append("Idempotency-Key: ").append(out.idempotency_key).append("\r\n");
  if (options.decode) head.append("Accept-Encoding: ").append(accepted_codings()).append("\r\n");
  if (options.connection_close) head += "Connection: close\r\n";
  if (out.takes_body) {
    if ((out.own_type || !typed) && !out.content_type.empty())
      head.append("Content-Type: ").append(out.content_type).append("\r\n");
    if (wire.chunked)
      head += "Transfer-Encoding: chunked\r\n";
    else
      head.append("Content-Length: ")
          .append(std::to_string(out.source ? *out.source->size() : out.body.raw().size()))
          .append("\r\n");
  }
  head += "\r\n";
  return wire;
}

Redirected redirect(const Response& response, Outgoing& out) {
  const int status = response.status;
  if (status != 301 && status != 302 && status != 303 && status != 307 && status != 308)
    return Redirected::no;
  const Target& now = out.client->target;
  const std::string_view location = response.headers.text("Location");
  if (location.empty()) return Redirected::refused;
  const Url base{now, out.path};
  Result<Url> url = resolve_url(base, location);
  if (!url || (now.tls && !url->target.tls)) return Redirected::refused;
  url->target.public_only = now.public_only;
  if (url->target != now) {
    auto elsewhere = std::make_unique<ClientOptions>(*out.client);
    elsewhere->target = url->target;
    elsewhere->key.clear();
    elsewhere->tls.certificate_file.clear();
    elsewhere->tls.key_file.clear();
    elsewhere->tls.key_password.clear();
    out.elsewhere = std::move(elsewhere);
    out.client = out.elsewhere.get();
    out.credentials = false;
  }
  out.path = std::move(url->path);
  const bool becomes_get =
      (status == 303 && out.method != "HEAD") || (status <= 302 && out.method == "POST");
  if (becomes_get) {
    out.method = "GET";
    out.body = Value();
    out.takes_body = false;
    out.own_type = false;
  }
  return Redirected::yes;
}

}  // namespace drom::http
