#include "connectors/http/producer_config.hpp"

#include <charconv>

#include "connectors/http/base64.hpp"
#include "connectors/http/http_text.hpp"
#include "drom/model/headers.hpp"

namespace drom::http {
namespace {

OptionSpec option(std::string name, OptionType type, std::string doc, std::string fallback = {},
                  std::string example = {}) {
  OptionSpec out;
  out.name = std::move(name);
  out.type = type;
  out.doc = std::move(doc);
  out.fallback = std::move(fallback);
  out.example = std::move(example);
  return out;
}

OptionSpec secret(std::string name, std::string doc) {
  OptionSpec out = option(std::move(name), OptionType::text, std::move(doc));
  out.secret = true;
  return out;
}

OptionSpec wait(std::string name, std::string doc, std::string fallback) {
  OptionSpec out =
      option(std::move(name), OptionType::duration, std::move(doc), std::move(fallback));
  out.minimum = 1;
  out.maximum = 24 * 3600 * 1000;
  return out;
}

OptionSpec method_option() {
  OptionSpec out = option("httpMethod", OptionType::enumeration,
                          "The method; by default GET without a body and POST with one.");
  out.values = {"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"};
  return out;
}

OptionSpec pattern_option() {
  OptionSpec out = option("exchangePattern", OptionType::enumeration,
                          "InOnly: nobody wants the answer, and inside a transaction the request "
                          "waits for the commit, as with `pattern: InOnly` at the step. By default "
                          "it is sent at once.");
  out.values = {"InOnly", "InOut"};
  return out;
}

OptionSpec auth_method_option() {
  OptionSpec out = option("authMethod", OptionType::enumeration,
                          "How to identify to the server: authUsername and authPassword, or "
                          "authBearerToken.");
  out.values = {"Basic", "Bearer"};
  return out;
}

// Options of Camel's component that would otherwise be sent to the server as query parameters.
bool is_foreign_option(std::string_view name) {
  for (const std::string_view known : {"chunked",
                                       "clearExpiredCookies",
                                       "connectionClose",
                                       "contentTypeCharsetEnabled",
                                       "cookieHandler",
                                       "cookieStore",
                                       "copyHeaders",
                                       "customHostHeader",
                                       "deleteWithBody",
                                       "disableStreamCache",
                                       "getWithBody",
                                       "headerFilterStrategy",
                                       "httpActivityListener",
                                       "httpBinding",
                                       "httpClient",
                                       "httpClientConfigurer",
                                       "httpContext",
                                       "ignoreResponseBody",
                                       "lazyStartProducer",
                                       "logHttpActivity",
                                       "maxTotalConnections",
                                       "multipartUpload",
                                       "oauth2ClientId",
                                       "oauth2ClientSecret",
                                       "oauth2TokenEndpoint",
                                       "preserveHostHeader",
                                       "proxyHost",
                                       "proxyPort",
                                       "skipControlHeaders",
                                       "skipRequestHeaders",
                                       "skipResponseHeaders",
                                       "sslContextParameters",
                                       "transferException",
                                       "useSystemProperties",
                                       "userAgent",
                                       "x509HostnameVerifier"})
    if (name == known) return true;
  return name.starts_with("httpClient.") || name.starts_with("httpConnection.");
}

Result<std::string> read_authorization(const Config& config) {
  const std::string& method = config.text("authMethod");
  const std::string& user = config.text("authUsername");
  const std::string& password = config.text("authPassword");
  const std::string& token = config.text("authBearerToken");
  const bool basic = method == "Basic" || (method.empty() && !user.empty());
  const bool bearer = method == "Bearer" || (method.empty() && !token.empty());
  if (basic && bearer)
    return Error(ErrorKind::config, "both authUsername and authBearerToken are given",
                 "choose one");
  if (basic && user.empty()) return Error(ErrorKind::config, "authMethod Basic needs authUsername");
  if (bearer && token.empty())
    return Error(ErrorKind::config, "authMethod Bearer needs authBearerToken");
  if (basic && user.find(':') != std::string::npos)
    return Error(ErrorKind::config, "authUsername cannot hold a colon");
  if (has_header_injection(token))
    return Error(ErrorKind::config, "authBearerToken cannot hold a line break");
  if (basic) return "Basic " + encode_base64(user + ":" + password);
  return bearer ? "Bearer " + token : std::string();
}

// "200-299,304".
Result<std::vector<std::pair<int, int>>> read_statuses(std::string_view text) {
  std::vector<std::pair<int, int>> out;
  const Error wrong(ErrorKind::config, "okStatusCodeRange cannot be '" + std::string(text) + "'",
                    "write codes and ranges, as in 200-299,304");
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    int low = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), low);
    if (error != std::errc()) return wrong;
    int high = low;
    const char* const last = part.data() + part.size();
    if (end != last) {
      if (*end != '-') return wrong;
      const auto [stop, error_high] = std::from_chars(end + 1, last, high);
      if (error_high != std::errc() || stop != last) return wrong;
    }
    if (low < 100 || high > 599 || high < low) return wrong;
    out.emplace_back(low, high);
  }
  if (out.empty()) return wrong;
  return out;
}

// Free parameters are the query of the request. Their values may be secrets: `shown` hides those.
Result<void> add_query(const Config& config, std::string& path, std::string& shown) {
  for (const auto& [name, value] : config.extra()) {
    if (is_foreign_option(name))
      return Error(ErrorKind::config,
                   "the option '" + name + "' of Camel's http component is not supported",
                   "leave it out; see `drom doc http` for what there is");
    const char separator = path.find('?') == std::string::npos ? '?' : '&';
    path += separator + encode_query(name) + "=" + encode_query(value);
    shown += separator + name + "=" + (is_secret_name(name) ? "xxxxxx" : encode_query(value));
  }
  return {};
}

}  // namespace

bool ProducerOptions::is_ok(int status) const {
  for (const auto& [low, high] : ok_statuses)
    if (status >= low && status <= high) return true;
  return false;
}

ConfigSpec producer_spec() {
  ConfigSpec spec;
  spec.name = "http";
  spec.title = "HTTP";
  spec.doc =
      "Sends each exchange as an HTTP request; the answer becomes its message, with the headers of "
      "the "
      "answer and CamelHttpResponseCode. Options that are not listed here are query parameters and "
      "are "
      "sent on. Unlike Camel, no header of the message chooses the target, the path, the method or "
      "the "
      "credentials: CamelHttpUri, CamelHttpPath, CamelHttpQuery and CamelHttpMethod are ignored; "
      "use toD "
      "for targets that vary. Other headers are sent, but for those of the connection, of the "
      "engine "
      "(Camel*, kafka.* and the like), Accept-Encoding, and Authorization and Cookie (option "
      "forwardCredentials). An answer outside okStatusCodeRange fails the exchange: 408, 425, 429 "
      "and "
      "5xx are worth another try, with Retry-After honoured; other codes are not. Code and body of "
      "the "
      "answer are then in the properties CamelHttpResponseCode and CamelHttpResponseBody.";
  spec.syntax = "http://host:port/path";
  spec.produces = true;
  spec.free_parameters = true;
  OptionSpec uri = option("httpUri", OptionType::text, "The URL, without user and password.", {},
                          "https://shop.example.com/api/orders");
  uri.required = true;
  uri.path = true;
  OptionSpec per_route = option("connectionsPerRoute", OptionType::integer,
                                "How many connections to one host there may be.", "20");
  per_route.minimum = 1;
  per_route.maximum = 10'000;
  OptionSpec response_max =
      option("maxResponseSize", OptionType::size,
             "The largest body of an answer; a larger one fails the exchange.", "10MB");
  response_max.minimum = 0;
  spec.options = {
      uri,
      method_option(),
      pattern_option(),
      option("throwExceptionOnFailure", OptionType::boolean,
             "Fails the exchange when the status is not in okStatusCodeRange.", "true"),
      option("okStatusCodeRange", OptionType::text, "The statuses of success.", "200-299",
             "200-299,404"),
      wait("connectTimeout",
           "How long finding the address, connecting and the TLS handshake may take, "
           "and how long to wait for a free connection.",
           "10s"),
      wait("responseTimeout", "How long sending and the whole answer may take.", "30s"),
      wait("connectionTimeToLive", "How long an unused connection is kept.", "60s"),
      per_route,
      response_max,
      option(
          "followRedirects", OptionType::boolean,
          "Follows up to five redirects of GET and HEAD, and 303; never from https to http, and to "
          "another host without credentials.",
          "false"),
      auth_method_option(),
      option("authUsername", OptionType::text, "The user for Basic authentication."),
      secret("authPassword", "The password for Basic authentication."),
      secret("authBearerToken", "The token for Bearer authentication."),
      option("forwardCredentials", OptionType::boolean,
             "Sends the headers Authorization and Cookie of the message.", "false"),
      option("caFile", OptionType::text,
             "A PEM file with the authorities to trust, instead of the system's.", {},
             "certs/ca.pem"),
      option("trustAllCertificates", OptionType::boolean,
             "Trusts every server, also a false one: for experiments only.", "false"),
      option("bridgeEndpoint", OptionType::boolean,
             "Accepted for Camel's sake: headers never choose the target here.", "true"),
  };
  spec.example =
      "- to:\n"
      "    uri: https://shop.example.com/api/orders\n"
      "    parameters:\n"
      "      httpMethod: POST\n"
      "      responseTimeout: 5s\n";
  return spec;
}

Result<ProducerOptions> read_producer_options(const Config& config) {
  ProducerOptions out;
  Result<Url> url = parse_url(config.text("httpUri"));
  if (!url) return std::move(url.error());
  out.url = std::move(*url);
  out.client.target = out.url.target;
  out.uri = (out.url.target.tls ? "https://" : "http://") + out.url.target.authority() +
            out.url.path.substr(0, out.url.path.find('?'));
  Result<void> query = add_query(config, out.url.path, out.uri);
  if (!query) return std::move(query.error());
  Result<std::string> authorization = read_authorization(config);
  if (!authorization) return std::move(authorization.error());
  out.authorization = std::move(*authorization);
  Result<std::vector<std::pair<int, int>>> statuses =
      read_statuses(config.text("okStatusCodeRange"));
  if (!statuses) return std::move(statuses.error());
  out.ok_statuses = std::move(*statuses);
  out.method = config.text("httpMethod");
  out.in_only = config.text("exchangePattern") == "InOnly";
  out.forward_credentials = config.flag("forwardCredentials");
  out.throw_on_failure = config.flag("throwExceptionOnFailure");
  out.follow_redirects = config.flag("followRedirects");
  out.client.ca_file = config.text("caFile");
  out.client.trust_all = config.flag("trustAllCertificates");
  out.client.connections_max = static_cast<size_t>(config.integer("connectionsPerRoute"));
  out.client.connect_timeout = config.duration("connectTimeout");
  out.client.response_timeout = config.duration("responseTimeout");
  out.client.idle_timeout = config.duration("connectionTimeToLive");
  out.client.body_bytes_max = static_cast<uint64_t>(config.integer("maxResponseSize"));
  return out;
}

}  // namespace drom::http
