// The options of `http`: their declaration, and what the producer needs of them. Load time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "connectors/http/client.hpp"
#include "connectors/http/content_coding.hpp"
#include "connectors/http/oauth.hpp"
#include "connectors/http/retry.hpp"
#include "connectors/http/url.hpp"
#include "drom/config/config.hpp"

namespace drom::http {

struct ProducerOptions {
  Url url;
  ClientOptions client;
  std::string uri;  // without secrets, for people

  std::string method;                         // empty: GET without a body, POST with one
  std::string authorization;                  // value of the header; secret; may be empty
  std::shared_ptr<const OAuthOptions> oauth;  // null: none
  std::string user_agent;
  bool forward_credentials = false;
  bool skip_request_headers = false;
  bool connection_close = false;
  bool get_with_body = false;
  bool delete_with_body = false;
  bool chunked = false;
  bool in_only = false;  // nobody wants the answer
  bool multipart = false;
  std::string multipart_name;
  ExpressionPtr multipart_file_name;  // null: none

  std::string upload_directory;    // the body is a file from there; empty: the message's
  std::string download_directory;  // the body of a good answer goes there; empty: to the message
  ExpressionPtr file_name;         // null: none

  RetryRules retry;
  ExpressionPtr idempotency_key;  // null: none
  milliseconds total_timeout = milliseconds::max();

  bool throw_on_failure = true;
  std::vector<std::pair<int, int>> ok_statuses;
  int redirects_max = 0;  // 0: they are not followed
  bool decode = true;
  DecodeLimits decode_limits;
  bool skip_response_headers = false;
  bool copy_headers = true;
  bool ignore_response_body = false;
  bool stream_answers = false;

  bool is_ok(int status) const;
};

ConfigSpec producer_spec();
Result<ProducerOptions> read_producer_options(const Config& config);

}  // namespace drom::http
