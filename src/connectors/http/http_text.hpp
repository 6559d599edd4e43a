// The small texts of HTTP: methods, reason phrases, percent escapes, media types, dates, and the
// rules which headers may cross. Pure functions; any thread. RFC 9110, RFC 3986.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "drom/base/time.hpp"
#include "drom/base/value.hpp"

namespace drom::http {

// The methods that we serve; everything else is answered with 501.
enum class Method : uint8_t { get, head, post, put, del, patch, options, unknown };

Method parse_method(std::string_view name);
std::string_view to_string(Method method);

// A set of methods as bits.
class MethodSet {
 public:
  MethodSet() = default;
  static MethodSet all();
  void add(Method m) { bits_ = static_cast<uint16_t>(bits_ | bit(m)); }
  void add(MethodSet other) { bits_ = static_cast<uint16_t>(bits_ | other.bits_); }
  bool has(Method m) const { return (bits_ & bit(m)) != 0; }
  bool meets(MethodSet other) const { return (bits_ & other.bits_) != 0; }
  bool empty() const { return bits_ == 0; }
  std::string text() const;  // "GET, HEAD", as in the Allow header

 private:
  static uint16_t bit(Method m) { return static_cast<uint16_t>(1u << static_cast<unsigned>(m)); }
  uint16_t bits_ = 0;
};

std::string_view reason_phrase(int status);  // "Unknown" when not registered

// Percent-decoding. nullopt: a bad escape, or CR, LF or NUL in the result.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space);
// Encodes everything that could be taken for the syntax of a query.
std::string encode_query(std::string_view text);
// Encodes what may not stand in a path; keeps escapes that are there already, as Camel does.
std::string encode_path(std::string_view text);

// `types` is a comma separated list ("application/json, text/*"), `content_type` may carry
// parameters, which do not count.
bool media_type_matches(std::string_view types, std::string_view content_type);

// Headers of one connection, never of the message (RFC 9110, 7.6.1), and those that the transport
// writes itself: Host, Content-Length, Date, Expect.
bool is_transport_header(std::string_view name);
bool is_token(std::string_view text);

// Appends "name: value\r\n", or nothing when name or value may not stand on the wire (the answer is
// then false). A list becomes one line per element (Set-Cookie).
bool append_header(std::string& out, std::string_view name, const Value& value);

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(WallTime time);
std::optional<WallTime> parse_http_date(std::string_view text);
// Retry-After: seconds or a date; nullopt when it is neither. At most a day.
std::optional<milliseconds> parse_retry_after(std::string_view text, WallTime now);

inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";

// The text form of a body on the wire and the media type that goes with it when nobody set one.
// Text and bytes come back as they are, lists and objects as JSON, null as null.
struct WireBody {
  Value body;                     // null, text or bytes
  std::string_view content_type;  // "" for null
};
WireBody to_wire_body(Value body);

}  // namespace drom::http
