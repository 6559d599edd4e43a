// One request of the http producer on its way through its redirects: from an exchange to bytes, and
// on to the place that an answer names. Pure; shard thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "connectors/http/producer_config.hpp"
#include "drom/model/exchange.hpp"
#include "drom/spi/scope.hpp"

namespace drom::http {

struct Outgoing {
  const ClientOptions* client = nullptr;     // the endpoint's, or `elsewhere`
  std::unique_ptr<ClientOptions> elsewhere;  // after a redirect
  std::string path;
  std::string method;
  Value body;                    // null, text or bytes; may be a view of the message's
  BodyStream* source = nullptr;  // in place of `body`; not owned
  BodySink* sink = nullptr;      // for the answer; not owned
  bool takes_body = false;
  std::string content_type;     // of `body`, when the message does not say
  bool own_type = false;        // content_type is right whatever the message says (multipart)
  std::string idempotency_key;  // empty: none
  bool credentials = true;      // not to a host that a redirect has named
};

// `exchange` keeps its message while the request is under way. Errors: data, from the expressions
// of the options.
Result<Outgoing> begin_request(const ProducerOptions& options, const Exchange& exchange,
                               Scope& scope);
// `out` outlives the request. `authorization` is the value of the header; empty: none. Headers that
// cannot be sent are logged.
WireRequest write_request(const ProducerOptions& options, const Outgoing& out,
                          const Headers& headers, std::string_view authorization, Scope& scope);

enum class Redirected : uint8_t {
  no,       // the answer is no redirect
  yes,      // `out` points to the new place
  refused,  // it must not go there: from https to http, or to no URL at all
};
// Methods as RFC 9110, 15.4 says: 303 becomes GET, 301 and 302 turn POST into GET, 307 and 308 keep
// method and body. Credentials, the client's certificate among them, stay with the first origin.
Redirected redirect(const Response& response, Outgoing& out);

}  // namespace drom::http
