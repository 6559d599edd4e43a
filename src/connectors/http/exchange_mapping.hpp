// Between HTTP and exchanges, on the serving side: a request becomes headers and a body, and what
// the route leaves behind becomes the answer. Names are Camel's. Pure; shard thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "connectors/http/message_reader.hpp"
#include "connectors/http/router.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/log.hpp"

namespace drom::http {

// Recognises headers that a route has left as they came, so that an answer does not send the
// request's headers back (Authorization, Cookie, or `?Location=` of a link that somebody else
// made).
class RequestMarks {
 public:
  void note(const Headers& headers);
  bool has(const Headers::Entry& entry) const;

 private:
  std::vector<uint64_t> marks_;
};

// Headers of the request, then {parameters} of the path, then the query's; the first to take a name
// keeps it. False: the query has a bad escape or a line break. Takes headers and body out of
// `request`.
bool fill_message(Message& message, Request& request, Router::Parameters& parameters,
                  std::string_view scheme);

struct AnswerRules {
  bool return_request_headers = false;
  bool mute_exception = false;  // no message of the error in the answer
  std::string_view produces;    // the media type when the route has set none
};

struct Answer {
  int status = 200;
  std::string lines;                   // headers, each ended by CR LF
  Value body;                          // null, text or bytes
  std::shared_ptr<BodyStream> stream;  // in place of `body`
};

// The answer of a route that ended well: CamelHttpResponseCode or 200, 204 without a body.
// `request` are the marks of the headers that came in. Dropped headers are logged.
void write_answer(Answer& out, Message message, const RequestMarks& request,
                  const AnswerRules& rules, Log& log);
// The answer of a route that failed. `id` is the exchange's, for the operator who looks into the
// log.
void write_failure(Answer& out, const Error& error, std::string_view id, const AnswerRules& rules);
// The answer to a request that was given back: try again.
void write_unavailable(Answer& out);

}  // namespace drom::http
