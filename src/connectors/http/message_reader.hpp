// Reads one HTTP/1 message after another from bytes, without any I/O. Requests by our own grammar
// (request_head, chunk_reader); responses by Beast's, without what it lets pass and we refuse: both
// lengths at once, unknown transfer encodings, folded lines, too many headers, and a body over the
// limit. RFC 9112. Shard thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "connectors/http/http_text.hpp"
#include "drom/model/headers.hpp"
#include "drom/rt/body_stream.hpp"

namespace drom::http {

enum class ReadState : uint8_t {
  head,  // wants bytes of the start line and the headers
  body,  // the head is there, wants bytes of the body
  complete,
  refused,  // refusal() says why; nothing more can be read from this connection
};

struct Refusal {
  int status = 400;
  std::string_view reason;  // a constant, safe to send
};

struct Request {
  Method method = Method::unknown;
  std::string target;      // as sent: path and query
  std::string_view path;   // views into `target`
  std::string_view query;  // without the question mark
  std::string host;
  Headers headers;  // without engine names and transport headers
  std::string body;
  std::shared_ptr<BodyStream> stream;  // what comes of a body that the route reads itself
  bool has_body = false;
  bool keep_alive = true;
  bool old = false;  // HTTP/1.0
  bool expects_continue = false;
};

class RequestReader {
 public:
  // A body is unlimited until body_max() says otherwise: its limit depends on the route.
  explicit RequestReader(size_t head_bytes_max);
  ~RequestReader();

  // Takes what it can of `input` and returns how many bytes that was. At `body` it stops once after
  // the head, so that the caller can look at it. 0 bytes taken: wants a longer input.
  size_t consume(std::string_view input);
  ReadState state() const;
  const Refusal& refusal() const;
  Request& request();
  // True when a Content-Length is known to be over `bytes`: refused with 413 before reading.
  bool body_max(uint64_t bytes);
  // As for answers: what has come of the body since the last call.
  std::string take_body();
  std::optional<uint64_t> length() const;  // of the body; nullopt: it comes in chunks
  // For the next message of the connection.
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct Response {
  int status = 0;
  std::string reason;
  Headers headers;  // without engine names and transport headers; Set-Cookie may be a list
  std::string body;
  std::shared_ptr<BodyStream> stream;  // in place of `body`, when the request asked for it
  bool keep_alive = false;
};

class ResponseReader {
 public:
  // `head_only`: the answer to HEAD, which has no body whatever its headers say.
  ResponseReader(size_t head_bytes_max, uint64_t body_bytes_max, bool head_only);
  ResponseReader(ResponseReader&&) noexcept;
  ResponseReader& operator=(ResponseReader&&) noexcept;
  ~ResponseReader();

  size_t consume(std::string_view input);
  // The connection ended: completes a body that lasts until the end, refuses everything else.
  void end();
  // The answer was only information (1xx): another one follows.
  void restart();
  bool started() const;  // a byte of the answer has arrived
  // For bodies that are not kept: what has come of the body since the last call, and how much of it
  // waits to be taken. The limit goes on counting what was taken.
  std::string take_body();
  size_t body_waiting() const;
  void body_max(uint64_t bytes);
  std::optional<uint64_t> length() const;  // of the body, when the head says it
  ReadState state() const;
  const Refusal& refusal() const;
  Response& response();  // from `body` on: status and headers; complete: all

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drom::http
