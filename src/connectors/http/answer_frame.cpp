#include "connectors/http/answer_frame.hpp"

#include <algorithm>
#include <charconv>

#include "connectors/http/http_text.hpp"

namespace drom::http {
namespace {

void append_number(std::string& out, uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  out.append(digits.data(), end.ptr);
}

}  // namespace

void settle_framing(AnswerFrame& frame) {
  frame.bodiless = frame.status == 204 || frame.status == 304;
  frame.head_only = frame.head_only || frame.bodiless;
  frame.chunked = !frame.bodiless && !frame.size && !frame.old;
  // HTTP/1.0 knows no chunks: the body ends with the connection.
  if (frame.old && !frame.size && !frame.head_only) frame.keep = false;
}

void append_status(std::string& out, int status) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<uint64_t>(status));
  out.append(" ").append(reason_phrase(status)).append("\r\n");
}

void append_framing(std::string& out, const AnswerFrame& frame) {
  if (!frame.bodiless && frame.size) {
    out += "Content-Length: ";
    append_number(out, *frame.size);
    out += "\r\n";
  }
  if (frame.chunked) out += "Transfer-Encoding: chunked\r\n";
  if (!frame.keep)
    out += "Connection: close\r\n";
  else if (frame.old)
    out += "Connection: keep-alive\r\n";
  out += "\r\n";
}

BodyPiece::BodyPiece(std::string_view bytes, bool chunked) : bytes_(bytes) {
  if (!chunked) return;
  char* at = std::to_chars(size_.data(), size_.data() + 16, bytes.size(), 16).ptr;
  *at++ = '\r';
  *at++ = '\n';
  size_length_ = static_cast<size_t>(at - size_.data());
}

std::array<boost::asio::const_buffer, 3> BodyPiece::buffers() const {
  using boost::asio::buffer;
  return {buffer(size_.data(), size_length_), buffer(bytes_.data(), bytes_.size()),
          buffer("\r\n", size_length_ > 0 ? 2 : 0)};
}

std::optional<std::string> Pumped::broken(const Result<std::string>& piece) const {
  if (!piece) return piece.error().what;
  if (piece->empty() && frame.size && sent < *frame.size) return "its body became shorter";
  return std::nullopt;
}

BodyPiece Pumped::piece(std::string_view bytes) {
  if (frame.size) bytes = bytes.substr(0, std::min<uint64_t>(bytes.size(), *frame.size - sent));
  sent += bytes.size();
  return {bytes, frame.chunked};
}

bool Pumped::complete(std::string_view last) const {
  return last.empty() || (frame.size && sent == *frame.size);
}

}  // namespace drom::http
