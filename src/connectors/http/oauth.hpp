// OAuth 2.0 client credentials (RFC 6749, 4.4): gets a token, keeps it until shortly before it
// expires, and fetches one at a time however many exchanges wait for it. One per endpoint; shard
// thread only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connectors/http/client.hpp"

namespace drom::http {

struct OAuthOptions {
  ClientOptions client;  // of the token endpoint
  std::string path;
  std::string client_id;
  std::string client_secret;  // secret
  std::string scope;
  std::string resource;
  bool secret_in_body = false;                    // else Basic authentication
  milliseconds lifetime = std::chrono::hours(1);  // when the answer does not tell
  milliseconds margin = std::chrono::seconds(5);  // before the expiry
  std::string uri;                                // without secrets, for people
};

class TokenSource {
 public:
  TokenSource(std::shared_ptr<HttpClient> client, OAuthOptions options);

  // Errors: rejected (wrong credentials), transient, timeout, not_connected. An error is kept for a
  // second, so that a flood of exchanges is no flood of requests.
  async<Result<std::string>> token(milliseconds budget);
  // The server has answered 401 to this token. True: the next token() is another one.
  bool refused(std::string_view token);

 private:
  async<Result<std::string>> fetch(milliseconds budget);
  Result<std::string> read(const Response& response);
  void wake();

  std::shared_ptr<HttpClient> client_;
  OAuthOptions options_;
  std::string token_;
  SteadyTime expires_{};
  SteadyTime replaced_{};  // when a refused token was replaced for the last time
  bool ever_replaced_ = false;
  bool fetching_ = false;
  std::vector<Alarm*> waiting_;
  std::optional<Error> failure_;
  SteadyTime failed_until_{};
};

}  // namespace drom::http
