// An exchange as text for people, in the form of Camel's log component. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/model/exchange.hpp"

namespace drom {

struct LogFormat {
  bool show_all = false;
  bool show_exchange_id = false;
  bool show_exchange_pattern = false;
  bool show_route_id = false;
  bool show_properties = false;
  bool show_variables = false;
  bool show_headers = false;
  bool show_body_type = true;
  bool show_body = true;
  bool show_exception = false;
  bool show_caught_exception = false;
  bool multiline = false;
  bool skip_body_line_separator = true;
  bool plain = false;
  size_t max_chars = 10000;  // 0: no limit
};

// The lines to write; one, unless multiline. Each is cut at max_chars.
std::vector<std::string> format_exchange(const Exchange& exchange, const LogFormat& format,
                                         std::string_view instance, std::string_view route);

// True for names like Authorization, Cookie, dbPassword, access_token, client-secret, api-key.
bool names_secret(std::string_view name);

}  // namespace drom
