// The start line and the fields of a request, by our own grammar: narrower than what parsers
// accept, because a request that two of them read in two ways is how requests are smuggled. Pure;
// any thread. RFC 9112.
#pragma once

#include <optional>
#include <string_view>

#include "connectors/http/message_reader.hpp"

namespace drom::http {

inline constexpr size_t kRequestFieldsMax = 100;

// Finds the end of a head in input that grows, and looks at each byte once: no control characters,
// no bare CR or LF, no line that continues the one before. Bad bytes are refused where they stand,
// not when the head is complete.
class HeadScanner {
 public:
  // The size of the head with its empty line; nullopt: not there yet, or refused.
  std::optional<size_t> scan(std::string_view input, std::optional<Refusal>& refusal);
  // The first line has ended; a head over its limit has too many fields then, else a long target.
  bool has_line() const { return line_ > 0; }

 private:
  size_t at_ = 0;    // looked at so far
  size_t line_ = 0;  // where the line begins
};

// Of a head whose first line is there: no need to wait for the rest of what is no request.
std::optional<Refusal> check_request_line(std::string_view input);

// How the body ends.
struct Framing {
  bool chunked = false;
  uint64_t length = 0;
};

// Reads a whole head as HeadScanner found it. `request` keeps the fields except those of the
// transport and of the engine.
std::optional<Refusal> read_request_head(std::string_view head, Request& request, Framing& framing);

// "name: value" without its line end; nullopt: not a field.
struct Field {
  std::string_view name;
  std::string_view value;  // without blanks around
};
std::optional<Field> read_field(std::string_view line);

// Fields that say where a message ends or to whom it goes. As trailers they are refused.
bool is_framing_field(std::string_view name);

}  // namespace drom::http
