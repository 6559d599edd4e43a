// Content codings of HTTP bodies: gzip, deflate, and br where libbrotlidec was there at build time
// (DROM_BROTLI). Decoding stops at limits, so that a small body which unfolds into a huge one (a
// decompression bomb) is an error and never memory. For answers and for requests. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drom::http {

struct DecodeLimits {
  uint64_t bytes_max = 10 * 1024 * 1024;  // of the decoded body
  uint32_t ratio_max = 200;               // decoded to encoded, beyond the first ratio_free bytes
  uint64_t ratio_free = 1024 * 1024;
};

enum class Decoded : uint8_t {
  ok,
  unknown,    // a coding that we do not have, or too many of them
  damaged,    // not what its coding says, cut off, or followed by something else
  too_large,  // over one of the limits
};

std::string_view to_string(Decoded outcome);  // a sentence without a subject: "is over its limit"

// What we can decode, as in Accept-Encoding: "gzip, deflate, br".
std::string_view accepted_codings();

// Piece by piece. One object per body.
class ContentDecoder {
 public:
  // `codings` is a Content-Encoding, in the order in which they were applied. state() tells whether
  // they are known.
  ContentDecoder(std::string_view codings, const DecodeLimits& limits);
  ~ContentDecoder();
  ContentDecoder(ContentDecoder&&) noexcept;
  ContentDecoder& operator=(ContentDecoder&&) noexcept;

  // Appends what `input` gives to `out`, which never takes more than the limits in all.
  Decoded feed(std::string_view input, std::string& out);
  // The input has ended. A body of no bytes at all is fine in every coding.
  Decoded finish();
  Decoded state() const { return state_; }

  class Layer;

 private:
  Decoded run(size_t layer, std::string_view input, std::string& out);

  std::vector<std::unique_ptr<Layer>> layers_;  // the coding that was applied last is first
  DecodeLimits limits_;
  Decoded state_ = Decoded::ok;
  uint64_t plain_bytes_ = 0;  // without any coding
  bool fed_ = false;
};

// A whole body. `out` is what it holds; unchanged in case of an error.
Decoded decode_content(std::string_view codings, std::string_view body, const DecodeLimits& limits,
                       std::string& out);

}  // namespace drom::http
