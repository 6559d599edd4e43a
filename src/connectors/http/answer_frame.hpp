// How an answer begins and where it ends: status line, framing headers, and the pieces of a body
// that is streamed. RFC 9112, 6 and 7. Pure; shard thread.
#pragma once

#include <array>
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drom/base/error.hpp"
#include "drom/rt/body_stream.hpp"

namespace drom::http {

struct AnswerFrame {
  int status = 200;
  std::optional<uint64_t> size;  // of the body; nullopt: nobody knows
  bool head_only = false;        // the body is not sent
  bool old = false;              // to HTTP/1.0
  bool keep = false;             // the connection is used again
  bool bodiless = false;         // by its status
  bool chunked = false;
};
// Fills in what follows from the rest.
void settle_framing(AnswerFrame& frame);
void append_status(std::string& out, int status);
// The framing headers and the empty line.
void append_framing(std::string& out, const AnswerFrame& frame);

// Bytes of a body as they go over the wire: as a chunk, or as they are. An empty chunk is the last.
class BodyPiece {
 public:
  BodyPiece(std::string_view bytes, bool chunked);
  std::array<boost::asio::const_buffer, 3> buffers() const;

 private:
  std::string_view bytes_;
  std::array<char, 20> size_{};
  size_t size_length_ = 0;
};

// A body on its way to the client.
struct Pumped {
  std::shared_ptr<BodyStream> stream;
  AnswerFrame frame;
  uint64_t sent = 0;

  // Why `piece` is not what must come next.
  std::optional<std::string> broken(const Result<std::string>& piece) const;
  // Never more than the head has promised.
  BodyPiece piece(std::string_view bytes);
  bool complete(std::string_view last) const;
};

}  // namespace drom::http
