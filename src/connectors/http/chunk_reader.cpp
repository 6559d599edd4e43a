#include "connectors/http/chunk_reader.hpp"

#include <algorithm>

#include "connectors/http/request_head.hpp"

namespace drom::http {
namespace {

constexpr size_t kDigitsMax = 16;  // of 64 bits
constexpr size_t kExtensionBytesMax = 4096;
constexpr size_t kTrailerBytesMax = 8192;

using Check = std::optional<Refusal>;

Refusal bad() { return Refusal{400, "the chunks of the body are malformed"}; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '\x7f';
}

}  // namespace

size_t ChunkReader::consume(std::string_view input, std::string& body, uint64_t body_max,
                            Check& refusal) {
  size_t at = 0;
  while (at < input.size() && state_ != State::complete) {
    if (state_ == State::data) {
      const size_t n = static_cast<size_t>(std::min<uint64_t>(size_, input.size() - at));
      body.append(input, at, n);
      at += n;
      size_ -= n;
      if (size_ == 0) state_ = State::data_cr;
      continue;
    }
    refusal = take(input[at++], body_max - std::min<uint64_t>(body_max, body.size()));
    if (refusal) return at;
  }
  return at;
}

Check ChunkReader::take(char c, uint64_t room) {
  switch (state_) {
    case State::size: return take_size(c);
    case State::extension: return take_extension(c);
    case State::size_lf:
      if (c != '\n') return bad();
      return end_of_size(room);
    case State::data_cr:
      if (c != '\r') return bad();
      state_ = State::data_lf;
      return {};
    case State::data_lf:
      if (c != '\n') return bad();
      state_ = State::size;
      digits_ = 0;
      size_ = 0;
      return {};
    default: return take_trailer(c);
  }
}

Check ChunkReader::take_size(char c) {
  if (const int digit = hex_digit(c); digit >= 0) {
    if (++digits_ > kDigitsMax) return bad();
    size_ = size_ * 16 + static_cast<uint64_t>(digit);
    return {};
  }
  if (digits_ == 0 || (c != '\r' && c != ';')) return bad();
  state_ = c == '\r' ? State::size_lf : State::extension;
  return {};
}

// What an extension says is of no interest, but where it ends is: a quoted text may hold anything
// except control characters.
Check ChunkReader::take_extension(char c) {
  if (c == '\r') {
    if (quoted_) return bad();
    state_ = State::size_lf;
    return {};
  }
  if (is_control(c) || ++extension_bytes_ > kExtensionBytesMax) return bad();
  if (escaped_)
    escaped_ = false;
  else if (c == '"')
    quoted_ = !quoted_;
  else
    escaped_ = quoted_ && c == '\\';
  return {};
}

// The size is enough to refuse a body that is too large.
Check ChunkReader::end_of_size(uint64_t room) {
  if (size_ > room) return Refusal{413, "the body is too large"};
  state_ = size_ == 0 ? State::trailer : State::data;
  return {};
}

Check ChunkReader::take_trailer(char c) {
  const bool after_cr = line_.ends_with('\r');
  if (after_cr != (c == '\n')) return bad();
  if (++trailer_bytes_ > kTrailerBytesMax) return Refusal{431, "the trailers are too large"};
  if (c != '\n') {
    if (is_control(c) && c != '\r') return bad();
    line_ += c;
    return {};
  }
  line_.pop_back();
  if (line_.empty()) {
    state_ = State::complete;
    return {};
  }
  const std::optional<Field> field = read_field(line_);
  if (!field || is_framing_field(field->name)) return bad();
  if (++trailers_ > kRequestFieldsMax) return Refusal{431, "too many trailers"};
  line_.clear();
  return {};
}

}  // namespace drom::http
