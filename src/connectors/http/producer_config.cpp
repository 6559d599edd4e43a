#include "connectors/http/producer_config.hpp"

#include <charconv>

#include "connectors/http/base64.hpp"
#include "connectors/http/http_text.hpp"
#include "drom/model/headers.hpp"

namespace drom::http {
namespace {

// Options of Camel's component that would otherwise be sent to the server as query parameters.
bool is_foreign_option(std::string_view name) {
  for (const std::string_view known : {"clearExpiredCookies",  "contentTypeCharsetEnabled",
                                       "cookieHandler",        "cookieStore",
                                       "customHostHeader",     "disableStreamCache",
                                       "oauth2CacheTokens",    "proxyAuthDomain",
                                       "proxyAuthHost",        "proxyAuthMethod",
                                       "proxyAuthNtHost",      "proxyAuthPort",
                                       "proxyAuthScheme",      "soTimeout",
                                       "headerFilterStrategy", "httpActivityListener",
                                       "httpBinding",          "httpClient",
                                       "httpClientConfigurer", "httpContext",
                                       "lazyStartProducer",    "logHttpActivity",
                                       "preserveHostHeader",   "skipControlHeaders",
                                       "sslContextParameters", "transferException",
                                       "useSystemProperties",  "x509HostnameVerifier"})
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
  const bool oauth = config.given("oauth2TokenEndpoint");
  if ((basic && bearer) || (oauth && (basic || bearer)))
    return Error(ErrorKind::config,
                 "more than one of authUsername, authBearerToken and oauth2TokenEndpoint is given",
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

Result<void> read_tls(const Config& config, ClientTls& out) {
  out.ca_file = config.text("caFile");
  out.trust_all = config.flag("trustAllCertificates");
  out.certificate_file = config.text("certificateFile");
  out.key_file = config.text("keyFile");
  out.key_password = config.text("keyPassword");
  if (out.certificate_file.empty() != out.key_file.empty())
    return Error(ErrorKind::config, "certificateFile and keyFile belong together",
                 "give both, or none");
  return {};
}

Result<std::shared_ptr<const Proxy>> read_proxy(const Config& config) {
  const std::string& user = config.text("proxyAuthUsername");
  if (!config.given("proxyHost")) {
    for (const char* name : {"proxyPort", "proxyAuthUsername", "proxyAuthPassword"})
      if (config.given(name))
        return Error(ErrorKind::config, std::string(name) + " is given without proxyHost");
    return std::shared_ptr<const Proxy>();
  }
  auto out = std::make_shared<Proxy>();
  Result<Url> url = parse_url("http://" + config.text("proxyHost"));
  if (!url || url->path != "/" || url->target.port != 80)
    return Error(ErrorKind::config, "proxyHost must be a host name or an address",
                 "the port goes to proxyPort, the user to proxyAuthUsername");
  out->host = url->target.host;
  out->port = static_cast<uint16_t>(config.integer("proxyPort"));
  out->direct_hosts = parse_direct_hosts(config.text("nonProxyHosts"));
  if (user.find(':') != std::string::npos)
    return Error(ErrorKind::config, "proxyAuthUsername cannot hold a colon");
  if (!user.empty())
    out->authorization = "Basic " + encode_base64(user + ":" + config.text("proxyAuthPassword"));
  return std::shared_ptr<const Proxy>(std::move(out));
}

Result<std::shared_ptr<const OAuthOptions>> read_oauth(const Config& config,
                                                       const ClientOptions& client) {
  if (!config.given("oauth2TokenEndpoint")) {
    for (const char* name : {"oauth2ClientId", "oauth2ClientSecret", "oauth2Scope"})
      if (config.given(name))
        return Error(ErrorKind::config,
                     std::string(name) + " is given without oauth2TokenEndpoint");
    return std::shared_ptr<const OAuthOptions>();
  }
  if (config.text("oauth2ClientId").empty() || config.text("oauth2ClientSecret").empty())
    return Error(ErrorKind::config,
                 "oauth2TokenEndpoint needs oauth2ClientId and oauth2ClientSecret");
  Result<Url> url = parse_url(config.text("oauth2TokenEndpoint"));
  if (!url) {
    url.error().what = "oauth2TokenEndpoint: " + url.error().what;
    return std::move(url.error());
  }
  auto out = std::make_shared<OAuthOptions>();
  out->client = client;
  // The certificate is for the one server, and the secret for the other.
  if (url->target != client.target) {
    out->client.tls.certificate_file.clear();
    out->client.tls.key_file.clear();
    out->client.tls.key_password.clear();
  }
  out->client.target = url->target;
  out->client.body_bytes_max = 64 * 1024;
  out->uri = (url->target.tls ? "https://" : "http://") + url->target.authority() +
             url->path.substr(0, url->path.find('?'));
  out->path = std::move(url->path);
  out->client_id = config.text("oauth2ClientId");
  out->client_secret = config.text("oauth2ClientSecret");
  out->scope = config.text("oauth2Scope");
  out->resource = config.text("oauth2ResourceIndicator");
  out->secret_in_body = config.flag("oauth2BodyAuthentication");
  out->lifetime = std::chrono::seconds(config.integer("oauth2CachedTokensDefaultExpirySeconds"));
  out->margin = std::chrono::seconds(config.integer("oauth2CachedTokensExpirationMarginSeconds"));
  return std::shared_ptr<const OAuthOptions>(std::move(out));
}

void read_client(const Config& config, ClientOptions& out) {
  out.connections.per_host = static_cast<size_t>(config.integer("connectionsPerRoute"));
  out.connections.total = static_cast<size_t>(config.integer("maxTotalConnections"));
  out.lease_timeout = config.duration("connectionRequestTimeout");
  out.connect_timeout = config.duration("connectTimeout");
  out.response_timeout = config.duration("responseTimeout");
  out.idle_timeout = config.duration("connectionTimeToLive");
  out.body_bytes_max = static_cast<uint64_t>(config.integer("maxResponseSize"));
}

void read_request(const Config& config, ProducerOptions& out) {
  out.method = config.text("httpMethod");
  out.in_only = config.text("exchangePattern") == "InOnly";
  out.forward_credentials = config.flag("forwardCredentials");
  out.skip_request_headers = config.flag("skipRequestHeaders");
  out.user_agent = config.text("userAgent");
  out.connection_close = config.flag("connectionClose");
  out.get_with_body = config.flag("getWithBody");
  out.delete_with_body = config.flag("deleteWithBody");
  out.chunked = config.flag("chunked");
  out.multipart = config.flag("multipartUpload");
  out.multipart_name = config.text("multipartUploadName");
  out.multipart_file_name = config.expression("multipartUploadFileName");
  out.upload_directory = config.text("uploadDirectory");
  out.download_directory = config.text("downloadDirectory");
  out.file_name = config.expression("fileName");
  out.idempotency_key = config.expression("idempotencyKey");
  out.retry.attempts_more = static_cast<int>(config.integer("maxRetries"));
  out.retry.delay = config.duration("retryDelay");
  out.retry.delay_max = config.duration("maxRetryDelay");
  if (config.has("totalTimeout")) out.total_timeout = config.duration("totalTimeout");
}

void read_answer(const Config& config, ProducerOptions& out) {
  out.throw_on_failure = config.flag("throwExceptionOnFailure");
  out.redirects_max =
      config.flag("followRedirects") ? static_cast<int>(config.integer("maxRedirects")) : 0;
  out.decode = config.flag("contentDecoding");
  out.decode_limits.bytes_max = static_cast<uint64_t>(config.integer("maxResponseSize"));
  out.decode_limits.ratio_max = static_cast<uint32_t>(config.integer("maxDecodingRatio"));
  out.skip_response_headers = config.flag("skipResponseHeaders");
  out.copy_headers = config.flag("copyHeaders");
  out.ignore_response_body = config.flag("ignoreResponseBody");
  out.stream_answers = config.flag("disableStreamCache") && !out.ignore_response_body &&
                       config.text("downloadDirectory").empty();
}

}  // namespace

bool ProducerOptions::is_ok(int status) const {
  for (const auto& [low, high] : ok_statuses)
    if (status >= low && status <= high) return true;
  return false;
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
  if (has_header_injection(config.text("userAgent")))
    return Error(ErrorKind::config, "userAgent cannot hold a line break");
  read_client(config, out.client);
  Result<void> tls = read_tls(config, out.client.tls);
  if (!tls) return std::move(tls.error());
  Result<std::shared_ptr<const Proxy>> proxy = read_proxy(config);
  if (!proxy) return std::move(proxy.error());
  out.client.proxy = std::move(*proxy);
  Result<std::shared_ptr<const OAuthOptions>> oauth = read_oauth(config, out.client);
  if (!oauth) return std::move(oauth.error());
  out.oauth = std::move(*oauth);
  read_request(config, out);
  if (!out.upload_directory.empty() && (out.multipart || !out.file_name))
    return Error(ErrorKind::config, "uploadDirectory needs fileName, and no multipartUpload");
  read_answer(config, out);
  return out;
}

}  // namespace drom::http
