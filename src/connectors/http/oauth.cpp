#include "connectors/http/oauth.hpp"

#include <algorithm>

#include "connectors/http/base64.hpp"
#include "connectors/http/http_text.hpp"
#include "drom/base/json.hpp"

namespace drom::http {
namespace {

constexpr milliseconds kFailureHold(1000);
// A server that refuses a fresh token too is not asked for one again and again.
constexpr milliseconds kReplaceEvery(10'000);
constexpr size_t kCodeMax = 64;
constexpr size_t kTokenMax = 16 * 1024;

// application/x-www-form-urlencoded: only letters, digits, and what is always safe.
std::string form_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '_' || c == '*';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

// The error code of RFC 6749, 5.2, when it looks like one: the answer of a stranger is not quoted.
std::string error_code(const Response& response) {
  const Result<Value> answer = parse_json(response.body);
  const Object* object = answer ? answer.value().as_object() : nullptr;
  const Value* code = object ? object->find("error") : nullptr;
  if (!code || !code->is_text() || code->raw().size() > kCodeMax || !is_token(code->raw()))
    return "";
  return std::string(code->raw());
}

}  // namespace

TokenSource::TokenSource(std::shared_ptr<HttpClient> client, OAuthOptions options)
    : client_(std::move(client)), options_(std::move(options)) {}

void TokenSource::wake() {
  for (Alarm* alarm : waiting_) alarm->ring();
}

async<Result<std::string>> TokenSource::token(milliseconds budget) {
  struct Waiting {
    std::vector<Alarm*>& all;
    Alarm* alarm;
    Waiting(std::vector<Alarm*>& a, Alarm* one) : all(a), alarm(one) { all.push_back(alarm); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { std::erase(all, alarm); }
  };
  struct Fetching {
    TokenSource& source;
    explicit Fetching(TokenSource& s) : source(s) { source.fetching_ = true; }
    Fetching(const Fetching&) = delete;
    Fetching& operator=(const Fetching&) = delete;
    ~Fetching() {
      source.fetching_ = false;
      source.wake();
    }
  };
  Clock& clock = client_->clock();
  while (true) {
    const SteadyTime now = clock.steady();
    if (!token_.empty() && now < expires_) co_return token_;
    if (failure_ && now < failed_until_) co_return *failure_;
    if (!fetching_) break;
    const std::unique_ptr<Alarm> alarm = clock.make_alarm();
    const Waiting waiting(waiting_, alarm.get());
    const bool rung = co_await alarm->wait(budget);
    if (!rung) co_return Error(ErrorKind::timeout, "no token from " + options_.uri + " in time");
  }
  const Fetching fetching(*this);
  Result<std::string> fetched = co_await fetch(budget);
  failure_.reset();
  if (!fetched) {
    failure_ = fetched.error();
    failed_until_ = clock.steady() + kFailureHold;
  }
  co_return fetched;
}

bool TokenSource::refused(std::string_view token) {
  if (token != token_) return true;  // replaced in the meantime
  const SteadyTime now = client_->clock().steady();
  if (ever_replaced_ && now < replaced_ + kReplaceEvery) return false;
  ever_replaced_ = true;
  replaced_ = now;
  token_.clear();
  return true;
}

async<Result<std::string>> TokenSource::fetch(milliseconds budget) {
  std::string body = "grant_type=client_credentials";
  if (!options_.scope.empty()) body.append("&scope=").append(form_encode(options_.scope));
  if (!options_.resource.empty()) body.append("&resource=").append(form_encode(options_.resource));
  if (options_.secret_in_body)
    body.append("&client_id=")
        .append(form_encode(options_.client_id))
        .append("&client_secret=")
        .append(form_encode(options_.client_secret));
  WireRequest request;
  request.idempotent = true;  // a token too many does no harm
  std::string& head = request.head;
  head = "POST ";
  if (options_.client.asks_proxy())
    head.append("http://").append(options_.client.target.authority());
  head.append(options_.path).append(" HTTP/1.1\r\nHost: ");
  head.append(options_.client.target.authority());
  head.append("\r\nUser-Agent: drom/" DROM_VERSION "\r\nAccept: application/json\r\n");
  if (options_.client.asks_proxy() && !options_.client.proxy->authorization.empty())
    head.append("Proxy-Authorization: ")
        .append(options_.client.proxy->authorization)
        .append("\r\n");
  if (!options_.secret_in_body)
    head.append("Authorization: Basic ")
        .append(encode_base64(form_encode(options_.client_id) + ":" +
                              form_encode(options_.client_secret)))
        .append("\r\n");
  head.append("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ");
  head.append(std::to_string(body.size())).append("\r\n\r\n");
  request.body = Value(std::move(body));
  Result<Response> response = co_await client_->send(options_.client, request, budget);
  if (!response) {
    response.error().what = "no token from " + options_.uri + ": " + response.error().what;
    co_return std::move(response.error());
  }
  co_return read(*response);
}

Result<std::string> TokenSource::read(const Response& response) {
  if (response.status != 200) {
    const bool later = response.status == 408 || response.status == 429 || response.status >= 500;
    const std::string code = error_code(response);
    Error error(later ? ErrorKind::transient : ErrorKind::rejected,
                options_.uri + " gives no token: " + std::to_string(response.status) +
                    (code.empty() ? "" : " " + code));
    if (!later) error.hint = "check oauth2ClientId, oauth2ClientSecret and oauth2Scope";
    return error;
  }
  const Error strange(ErrorKind::rejected, options_.uri + " answered without a bearer token",
                      "is it the token endpoint of an OAuth 2.0 server?");
  const Result<Value> answer = parse_json(response.body);
  const Object* object = answer ? answer.value().as_object() : nullptr;
  const Value* token = object ? object->find("access_token") : nullptr;
  if (!token || !token->is_text() || token->raw().empty() || token->raw().size() > kTokenMax ||
      has_header_injection(token->raw()))
    return strange;
  const Value* type = object->find("token_type");
  if (type && !iequals(type->raw(), "bearer")) return strange;
  milliseconds lifetime = options_.lifetime;
  const Value* expires = object->find("expires_in");
  if (expires)
    if (const auto seconds = expires->to_int())
      lifetime = milliseconds(std::clamp<int64_t>(*seconds, 0, 365 * 86'400) * 1000);
  // A token that lives shorter than the margin is used for half of its life.
  lifetime = std::max(lifetime - options_.margin, lifetime / 2);
  token_ = token->raw();
  expires_ = client_->clock().steady() + lifetime;
  return token_;
}

}  // namespace drom::http
