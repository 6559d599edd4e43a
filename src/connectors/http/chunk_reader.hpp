// Takes a chunked body apart, byte by byte where it matters and in whole pieces where it does not.
// Strict: hexadecimal sizes without blanks, CR LF and nothing else, extensions and trailers within
// limits; both are read and dropped. Pure; one thread. RFC 9112, 7.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "connectors/http/message_reader.hpp"

namespace drom::http {

class ChunkReader {
 public:
  // Appends the data in `input` to `body`, which may grow to `body_max`. Returns the bytes taken:
  // all of them, except after the end of the body or a refusal.
  size_t consume(std::string_view input, std::string& body, uint64_t body_max,
                 std::optional<Refusal>& refusal);
  bool complete() const { return state_ == State::complete; }

 private:
  enum class State : uint8_t {
    size,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer,
    complete
  };

  std::optional<Refusal> take(char c, uint64_t room);
  std::optional<Refusal> take_size(char c);
  std::optional<Refusal> take_extension(char c);
  std::optional<Refusal> take_trailer(char c);
  std::optional<Refusal> end_of_size(uint64_t room);

  State state_ = State::size;
  uint64_t size_ = 0;  // of the chunk; what is left of it while in `data`
  size_t digits_ = 0;
  size_t extension_bytes_ = 0;  // of the whole body
  size_t trailers_ = 0;
  size_t trailer_bytes_ = 0;
  bool quoted_ = false;
  bool escaped_ = false;
  std::string line_;  // of a trailer
};

}  // namespace drom::http
