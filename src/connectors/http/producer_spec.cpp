#include "connectors/http/producer_config.hpp"
#include "spi/step_support.hpp"

namespace drom::http {
namespace {

using Options = std::vector<OptionSpec>;

OptionSpec secret(std::string name, std::string doc) {
  OptionSpec out = option(std::move(name), OptionType::text, std::move(doc));
  out.secret = true;
  return out;
}

OptionSpec wait(std::string name, std::string doc, std::string fallback) {
  return bounded(option(std::move(name), OptionType::duration, std::move(doc), std::move(fallback)),
                 1, 24 * 3600 * 1000);
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

OptionSpec number(std::string name, std::string doc, std::string fallback, int64_t low,
                  int64_t high) {
  return bounded(option(std::move(name), OptionType::integer, std::move(doc), std::move(fallback)),
                 low, high);
}

void add(ConfigSpec& spec, Options options) {
  for (OptionSpec& each : options) spec.options.push_back(std::move(each));
}

Options request_options() {
  OptionSpec uri = option("httpUri", OptionType::text, "The URL, without user and password.", {},
                          "https://shop.example.com/api/orders");
  uri.required = true;
  uri.path = true;
  return {
      uri,
      method_option(),
      pattern_option(),
      option("getWithBody", OptionType::boolean, "Sends the body with GET too.", "false"),
      option("deleteWithBody", OptionType::boolean, "Sends the body with DELETE too.", "false"),
      option("chunked", OptionType::boolean,
             "Sends the body in chunks (Transfer-Encoding), without its length.", "false"),
      option("skipRequestHeaders", OptionType::boolean, "Sends no header of the message.", "false"),
      option("userAgent", OptionType::text,
             "The User-Agent; by default that of the message, else drom's."),
      option("connectionClose", OptionType::boolean, "Uses each connection for one request only.",
             "false"),
  };
}

Options answer_options() {
  OptionSpec response_max =
      option("maxResponseSize", OptionType::size,
             "The largest body of an answer, on the wire and decoded; a larger one fails the "
             "exchange.",
             "10MB");
  response_max.minimum = 0;
  return {
      option("throwExceptionOnFailure", OptionType::boolean,
             "Fails the exchange when the status is not in okStatusCodeRange.", "true"),
      option("okStatusCodeRange", OptionType::text, "The statuses of success.", "200-299",
             "200-299,404"),
      option("followRedirects", OptionType::boolean,
             "Follows redirects, with the method as RFC 9110 says; never from https to http, and "
             "to another origin without credentials.",
             "false"),
      number("maxRedirects", "How many redirects of one request are followed.", "5", 1, 50),
      response_max,
      option("contentDecoding", OptionType::boolean,
             "Asks for packed answers and unpacks them (gzip, deflate, br). Without it "
             "none are asked for, and a body stays as it came.",
             "true"),
      number("maxDecodingRatio",
             "How many times larger than on the wire a body may get, beyond its first megabyte.",
             "200", 1, 100'000),
      option("skipResponseHeaders", OptionType::boolean,
             "Takes no header of the answer but Content-Type.", "false"),
      option("copyHeaders", OptionType::boolean,
             "Keeps the headers that the message had, beside those of the answer.", "true"),
      option("ignoreResponseBody", OptionType::boolean, "Drops the body of the answer.", "false"),
      option("disableStreamCache", OptionType::boolean,
             "Passes the body of a good answer on while it arrives, as a stream that can be read "
             "once: by platform-http, http and file. A step that looks at it gets it read into "
             "memory, up to 10 MB. responseTimeout then is for each part of it.",
             "false"),
  };
}

Options time_options() {
  OptionSpec total = wait("totalTimeout",
                          "How long everything together may take: tokens, attempts, redirects and "
                          "the waits in between. By default only the parts have limits.",
                          "");
  return {
      wait("connectTimeout",
           "How long finding the address, connecting, the tunnel of a proxy and the TLS handshake "
           "may take.",
           "10s"),
      wait("connectionRequestTimeout", "How long to wait for a free connection.", "10s"),
      wait("responseTimeout",
           "How long sending and the whole answer may take, per attempt; for files and streams, "
           "each "
           "part of them.",
           "30s"),
      total,
      wait("connectionTimeToLive", "How long an unused connection is kept.", "60s"),
      number("connectionsPerRoute", "How many connections to one host there may be.", "20", 1,
             10'000),
      number("maxTotalConnections",
             "How many connections to all hosts of the engine there may be for this endpoint to "
             "open another one.",
             "200", 1, 100'000),
  };
}

Options retry_options() {
  return {
      number("maxRetries",
             "How often a request is sent again when the connection failed, no answer came in "
             "time, or the answer was 408, 425, 429, 502, 503 or 504. Only what may be done twice "
             "is: GET, HEAD, PUT, DELETE, OPTIONS, and every method with idempotencyKey. What "
             "could not connect is tried again whatever it is.",
             "0", 0, 100),
      wait("retryDelay",
           "The wait before the first retry. It doubles from one to the next, less up to a half "
           "by chance.",
           "500ms"),
      wait("maxRetryDelay",
           "The longest wait. A Retry-After below it is honoured; one above it ends the retries, "
           "and the error handler learns of it.",
           "30s"),
      option("idempotencyKey", OptionType::expression,
             "Sent as Idempotency-Key, the same with every attempt: the server knows repeats, so "
             "that POST and PATCH may be retried.",
             {}, "${header.orderId}"),
  };
}

Options authentication_options() {
  return {
      auth_method_option(),
      option("authUsername", OptionType::text, "The user for Basic authentication."),
      secret("authPassword", "The password for Basic authentication."),
      secret("authBearerToken", "The token for Bearer authentication."),
      option("oauth2TokenEndpoint", OptionType::text,
             "The URL where OAuth 2.0 tokens are got, by the grant client_credentials. A token is "
             "kept until shortly before it expires; after 401 a new one is got, once.",
             {}, "https://login.example.com/oauth2/token"),
      option("oauth2ClientId", OptionType::text, "The client id for OAuth 2.0."),
      secret("oauth2ClientSecret", "The client secret for OAuth 2.0."),
      option("oauth2Scope", OptionType::text, "The scopes to ask for, separated by blanks.", {},
             "orders.read orders.write"),
      option("oauth2ResourceIndicator", OptionType::text,
             "The resource to ask a token for (RFC 8707)."),
      option("oauth2BodyAuthentication", OptionType::boolean,
             "Sends client id and secret in the body instead of by Basic authentication.", "false"),
      number("oauth2CachedTokensDefaultExpirySeconds",
             "How long a token is kept whose answer does not say.", "3600", 1, 365 * 86'400),
      number("oauth2CachedTokensExpirationMarginSeconds",
             "How long before its expiry a token is replaced.", "5", 0, 86'400),
      option("forwardCredentials", OptionType::boolean,
             "Sends the headers Authorization and Cookie of the message.", "false"),
  };
}

Options tls_options() {
  return {
      option("caFile", OptionType::text,
             "A PEM file with the authorities to trust, instead of the system's.", {},
             "certs/ca.pem"),
      option("certificateFile", OptionType::text,
             "A PEM file with the client's certificate and its chain (mTLS).", {},
             "certs/client.pem"),
      option("keyFile", OptionType::text, "A PEM file with the key of the client's certificate.",
             {}, "certs/client-key.pem"),
      secret("keyPassword", "The password of keyFile."),
      option("trustAllCertificates", OptionType::boolean,
             "Trusts every server, also a false one: for experiments only.", "false"),
  };
}

Options proxy_options() {
  return {
      option("proxyHost", OptionType::text,
             "An HTTP proxy: http:// goes to it with the whole URL, https:// through a tunnel "
             "(CONNECT).",
             {}, "proxy.example.com"),
      number("proxyPort", "The port of the proxy.", "8080", 1, 65'535),
      option("proxyAuthUsername", OptionType::text, "The user for Basic authentication there."),
      secret("proxyAuthPassword", "The password for it."),
      option("nonProxyHosts", OptionType::text,
             "Hosts that are reached without the proxy, separated by | or commas; * at the begin "
             "or the end stands for the rest.",
             {}, "localhost|*.example.com"),
  };
}

Options multipart_options() {
  return {
      option("multipartUpload", OptionType::boolean,
             "Sends the body as multipart/form-data. An object gives one part per entry: texts "
             "and numbers are fields, bytes and objects with content, fileName and contentType "
             "are files, lists give several parts. Everything else is one part.",
             "false"),
      option("multipartUploadName", OptionType::text, "The name of the one part.", "data"),
      option("multipartUploadFileName", OptionType::expression,
             "Makes the one part a file with this name.", {}, "${header.CamelFileName}"),
  };
}

Options file_options() {
  return {
      option("uploadDirectory", OptionType::text,
             "Sends the file fileName of this directory as the body, without reading it into "
             "memory.",
             {}, "out"),
      option("downloadDirectory", OptionType::text,
             "Writes the body of an answer with a status of success to the file fileName in this "
             "directory, while it arrives; the body of the message is then its path. The file "
             "appears complete or not at all.",
             {}, "in"),
      option("fileName", OptionType::expression,
             "The name of the file, below the directory. Downloads have the exchange id by "
             "default.",
             {}, "${header.CamelFileName}"),
  };
}

}  // namespace

ConfigSpec producer_spec() {
  ConfigSpec spec;
  spec.name = "http";
  spec.title = "HTTP";
  spec.doc =
      "Sends each exchange as an HTTP request; the answer becomes its message, with the headers of "
      "the answer and CamelHttpResponseCode. Options that are not listed here are query parameters "
      "and are sent on. Unlike Camel, no header of the message chooses the target, the path, the "
      "method or the credentials: CamelHttpUri, CamelHttpPath, CamelHttpQuery and CamelHttpMethod "
      "are ignored; use toD for targets that vary. Other headers are sent, but for those of the "
      "connection, of the engine (Camel*, kafka.* and the like), Accept-Encoding, and "
      "Authorization and Cookie (option forwardCredentials). An answer outside okStatusCodeRange "
      "fails the exchange: 408, 425, 429 and 5xx are worth another try, with Retry-After honoured; "
      "other codes are not. Code and body of the answer are then in the properties "
      "CamelHttpResponseCode and CamelHttpResponseBody. A certificate that is wrong, expired or "
      "from an unknown authority is not worth another try either.";
  spec.syntax = "http://host:port/path";
  spec.produces = true;
  spec.free_parameters = true;
  add(spec, request_options());
  add(spec, answer_options());
  add(spec, time_options());
  add(spec, retry_options());
  add(spec, authentication_options());
  add(spec, tls_options());
  add(spec, proxy_options());
  add(spec, multipart_options());
  add(spec, file_options());
  spec.options.push_back(option("bridgeEndpoint", OptionType::boolean,
                                "Accepted for Camel's sake: headers never choose the target here.",
                                "true"));
  spec.example =
      "- to:\n"
      "    uri: https://shop.example.com/api/orders\n"
      "    parameters:\n"
      "      httpMethod: POST\n"
      "      responseTimeout: 5s\n";
  return spec;
}

}  // namespace drom::http
