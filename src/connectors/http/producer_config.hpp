// The options of `http`: their declaration, and what the producer needs of them. Load time.
#pragma once

#include <string>
#include <vector>

#include "connectors/http/client.hpp"
#include "connectors/http/url.hpp"
#include "drom/config/config.hpp"

namespace drom::http {

struct ProducerOptions {
  Url url;
  ClientOptions client;
  std::string method;         // empty: GET without a body, POST with one
  std::string authorization;  // value of the header; secret; may be empty
  bool forward_credentials = false;
  bool throw_on_failure = true;
  bool follow_redirects = false;
  bool in_only = false;  // nobody wants the answer
  std::vector<std::pair<int, int>> ok_statuses;
  std::string uri;  // without secrets, for people

  bool is_ok(int status) const;
};

ConfigSpec producer_spec();
Result<ProducerOptions> read_producer_options(const Config& config);

}  // namespace drom::http
