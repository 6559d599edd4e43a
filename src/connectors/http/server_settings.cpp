#include <charconv>

#include "connectors/http/server.hpp"

namespace drom::http {
namespace {

Error wrong(std::string_view key, std::string_view text, std::string hint) {
  return Error(ErrorKind::config,
               "the property " + std::string(key) + " cannot be '" + std::string(text) + "'",
               std::move(hint));
}

// Undefined placeholders inside stay visible: the value is then refused as it was written.
std::optional<std::string> setting(const PropertySource& properties, std::string_view key) {
  std::optional<std::string> raw = properties.property(key);
  std::optional<std::string> resolved = raw ? resolved_property(properties, key) : std::nullopt;
  return resolved ? resolved : raw;
}

Result<void> read_number(const PropertySource& properties, std::string_view key, uint64_t low,
                         uint64_t high, uint64_t& out) {
  const std::optional<std::string> text = setting(properties, key);
  if (!text) return {};
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end != text->data() + text->size() || number < low || number > high)
    return wrong(
        key, *text,
        "write a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  out = number;
  return {};
}

Result<void> read_wait(const PropertySource& properties, std::string_view key, milliseconds& out) {
  const std::optional<std::string> text = setting(properties, key);
  if (!text) return {};
  Result<milliseconds> wait = parse_duration(*text);
  if (!wait || *wait < milliseconds(1) || *wait > std::chrono::hours(24))
    return wrong(key, *text, "write a duration from 1ms to 24h");
  out = *wait;
  return {};
}

Result<void> read_flag(const PropertySource& properties, std::string_view key,
                       std::optional<bool>& out) {
  const std::optional<std::string> text = setting(properties, key);
  if (!text) return {};
  if (*text != "true" && *text != "false") return wrong(key, *text, "write true or false");
  out = *text == "true";
  return {};
}

Result<void> read_tls(const PropertySource& properties, ServerTlsFiles& out) {
  out.certificate = setting(properties, "drom.http.certificateFile").value_or("");
  out.key = setting(properties, "drom.http.keyFile").value_or("");
  out.client_ca = setting(properties, "drom.http.clientCaFile").value_or("");
  if (out.certificate.empty() != out.key.empty())
    return Error(ErrorKind::config,
                 "TLS needs both drom.http.certificateFile and drom.http.keyFile");
  const bool given = !out.client_ca.empty();
  const std::string auth =
      setting(properties, "drom.http.clientAuth").value_or(given ? "need" : "none");
  if (auth != "none" && auth != "want" && auth != "need")
    return wrong("drom.http.clientAuth", auth, "write none, want or need");
  out.client_auth = auth == "need"   ? ClientAuth::need
                    : auth == "want" ? ClientAuth::want
                                     : ClientAuth::none;
  if (out.client_auth != ClientAuth::none && !given)
    return Error(ErrorKind::config, "drom.http.clientAuth needs drom.http.clientCaFile",
                 "name the file with the certificates that sign those of the clients");
  if (given && out.certificate.empty())
    return Error(ErrorKind::config, "drom.http.clientCaFile needs drom.http.certificateFile",
                 "clients can show certificates over TLS only");
  return {};
}

}  // namespace

// drom.http.host, .port, .certificateFile, .keyFile, .clientCaFile, .clientAuth, .maxConnections,
// .maxHeaderSize, .maxRequests, .maxBodyMemory, .headerTimeout, .bodyTimeout, .idleTimeout,
// .writeTimeout, .drainTimeout, .minRate; host and port also by the names of Camel's runtimes.
Result<ServerSettings> read_server_settings(const PropertySource& properties) {
  ServerSettings out;
  for (const char* key : {"quarkus.http.host", "camel.server.host", "drom.http.host"})
    if (auto host = setting(properties, key)) out.host = *host;
  uint64_t port = out.port;
  uint64_t connections = out.connections_max;
  uint64_t head_bytes = out.head_bytes_max;
  std::vector<Result<void>> checks;
  for (const char* key : {"quarkus.http.port", "camel.server.port", "drom.http.port"})
    checks.push_back(read_number(properties, key, 0, 65535, port));
  checks.push_back(read_number(properties, "drom.http.maxConnections", 1, 100'000, connections));
  checks.push_back(
      read_number(properties, "drom.http.maxHeaderSize", 512, 1024 * 1024, head_bytes));
  checks.push_back(read_wait(properties, "drom.http.headerTimeout", out.head_timeout));
  checks.push_back(read_wait(properties, "drom.http.bodyTimeout", out.body_timeout));
  checks.push_back(read_wait(properties, "drom.http.idleTimeout", out.idle_timeout));
  checks.push_back(read_wait(properties, "drom.http.writeTimeout", out.write_timeout));
  checks.push_back(read_wait(properties, "drom.http.drainTimeout", out.drain_timeout));
  uint64_t requests = out.requests_max;
  checks.push_back(read_number(properties, "drom.http.maxRequests", 1, 100'000, requests));
  uint64_t body_memory = out.body_memory_max;
  checks.push_back(
      read_number(properties, "drom.http.maxBodyMemory", 1024, uint64_t{1} << 40, body_memory));
  checks.push_back(
      read_number(properties, "drom.http.minRate", 0, uint64_t{1} << 30, out.rate_min));
  for (Result<void>& check : checks)
    if (!check) return std::move(check.error());
  out.port = static_cast<uint16_t>(port);
  out.connections_max = connections;
  out.requests_max = requests;
  out.body_memory_max = body_memory;
  out.head_bytes_max = head_bytes;
  Result<void> tls = read_tls(properties, out.tls);
  if (!tls) return std::move(tls.error());
  return out;
}

// drom.management.enabled, .host, .port, or by Camel's prefix. A port alone is enough. Unlike
// Camel's, the server is on loopback until somebody names another address: it asks for no password.
Result<std::optional<ServerSettings>> read_management_settings(const PropertySource& properties) {
  ServerSettings out;
  out.name = "management";
  out.properties = "drom.management";
  out.host = "127.0.0.1";
  out.connections_max = 32;
  std::optional<bool> enabled;
  uint64_t port = 9876;
  bool port_given = false;
  for (const std::string prefix : {"camel.management", "drom.management"}) {
    Result<void> read = read_flag(properties, prefix + ".enabled", enabled);
    if (!read) return std::move(read.error());
    read = read_number(properties, prefix + ".port", 0, 65535, port);
    if (!read) return std::move(read.error());
    port_given = port_given || properties.property(prefix + ".port");
    if (auto host = setting(properties, prefix + ".host")) out.host = *host;
  }
  if (!enabled.value_or(port_given)) return std::optional<ServerSettings>();
  out.port = static_cast<uint16_t>(port);
  return std::optional<ServerSettings>(std::move(out));
}

}  // namespace drom::http
