#include "connectors/http/message_reader.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <optional>

#include "config/utf8.hpp"

namespace drom::http {
namespace {

namespace beast = boost::beast::http;
using ErrorCode = boost::beast::error_code;
using Text = boost::beast::string_view;

constexpr size_t kHeadersMax = 100;
constexpr size_t kHeadersUsual = 8;
constexpr size_t kReserveBytesMax = 64 * 1024;  // a claimed Content-Length is not yet a body

std::string_view view(Text text) { return {text.data(), text.size()}; }

ErrorCode refused() { return make_error_code(beast::error::bad_field); }

// Transport headers by Beast's number, which spares the comparisons.
bool is_transport_field(beast::field name) {
  switch (name) {
    case beast::field::connection:
    case beast::field::keep_alive:
    case beast::field::proxy_connection:
    case beast::field::proxy_authenticate:
    case beast::field::proxy_authorization:
    case beast::field::te:
    case beast::field::trailer:
    case beast::field::transfer_encoding:
    case beast::field::upgrade:
    case beast::field::http2_settings:
    case beast::field::content_length:
    case beast::field::expect: return true;
    default: return false;
  }
}

// Lines that start with a blank continue the one before (obs-fold): parsers disagree about them.
bool has_folded_line(std::string_view head) {
  for (size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1))
    if (at + 1 < head.size() && (head[at + 1] == ' ' || head[at + 1] == '\t')) return true;
  return false;
}

// What is no UTF-8 is no text: nobody could write it into JSON or a database.
Value header_value(std::string value) {
  if (find_invalid_utf8(value) == std::string_view::npos) return Value(std::move(value));
  return Value(Bytes(std::move(value)));
}

// What requests and responses share: limits, framing checks, headers, the body.
struct Inbox {
  Headers headers;
  std::string body;
  uint64_t body_max = UINT64_MAX;
  uint64_t taken = 0;  // of the body, by somebody who does not keep it
  size_t header_count = 0;
  int lengths = 0;  // Content-Length lines
  bool transfer_coded = false;
  bool head_done = false;  // fields that follow are trailers, which nobody gets to see
  bool too_many = false;
  std::optional<Refusal> refusal;

  void refuse(int status, std::string_view reason) {
    if (!refusal) refusal = Refusal{status, reason};
  }

  void framing(beast::field name, std::string_view value, ErrorCode& ec) {
    if (name == beast::field::content_length) ++lengths;
    if (name == beast::field::transfer_encoding) {
      if (transfer_coded || !iequals(value, "chunked")) {
        refuse(501, "only the transfer encoding 'chunked' is understood");
        ec = refused();
        return;
      }
      transfer_coded = true;
    }
    // Two framings are how requests are smuggled past a proxy (RFC 9112, 6.1).
    if (lengths > 1 || (lengths > 0 && transfer_coded)) {
      refuse(400, "the length of the body is given twice");
      ec = refused();
    }
  }

  void field(beast::field name, std::string_view spelled, std::string_view value, ErrorCode& ec) {
    if (head_done) return;
    if (++header_count > kHeadersMax) {
      refuse(431, "too many header fields");
      ec = refused();
      return;
    }
    framing(name, value, ec);
    if (ec || is_transport_field(name)) return;
    if (name == beast::field::unknown && is_engine_header(spelled)) return;
    const Value* old = headers.find(spelled);
    if (headers.empty()) headers.reserve(kHeadersUsual);
    if (!old) {
      headers.append(std::string(spelled), header_value(std::string(value)));
    } else if (name == beast::field::set_cookie) {
      List list = old->is_list() ? *old->as_list() : List{*old};
      list.push_back(header_value(std::string(value)));
      headers.set(spelled, Value(std::move(list)));
    } else {
      const std::string_view glue = name == beast::field::cookie ? "; " : ", ";
      headers.set(spelled, header_value(std::string(old->raw()).append(glue).append(value)));
    }
  }

  void check_room(uint64_t bytes, ErrorCode& ec) {
    const uint64_t had = taken + body.size();
    if (had <= body_max && bytes <= body_max - had) return;
    refuse(413, "the body is too large");
    ec = make_error_code(beast::error::body_limit);
  }

  size_t take(std::string_view bytes, ErrorCode& ec) {
    check_room(bytes.size(), ec);
    if (ec) return 0;
    body.append(bytes);
    return bytes.size();
  }

  // Cuts the head off `input`: nullopt when it is not complete; refuses what is too long or folded.
  std::optional<size_t> head_size(std::string_view input, size_t head_bytes_max) {
    const size_t end = input.find("\r\n\r\n");
    if (end == std::string_view::npos || end + 4 > head_bytes_max) {
      if (input.size() < head_bytes_max) return std::nullopt;
      const bool line = input.substr(0, head_bytes_max).find("\r\n") != std::string_view::npos;
      refuse(line ? 431 : 414, line ? "the header fields are too large" : "the target is too long");
      return std::nullopt;
    }
    if (has_folded_line(input.substr(0, end + 3))) {
      refuse(400, "a header field continues on the next line");
      return std::nullopt;
    }
    return end + 4;
  }
};

// Beast's grammar, filling an Inbox.
template <bool is_request>
class Parser : public beast::basic_parser<is_request> {
 public:
  explicit Parser(Inbox& inbox) : inbox_(inbox) { this->body_limit(boost::none); }

  // Feeds `input`; parse errors end up as a refusal.
  size_t feed(std::string_view input) {
    ErrorCode ec;
    const size_t used = this->put(boost::asio::const_buffer(input.data(), input.size()), ec);
    if (ec && ec != beast::error::need_more) inbox_.refuse(400, "the message is malformed");
    return used;
  }

 protected:
  void on_request_impl(beast::verb, Text, Text, int, ErrorCode& ec) override { ec = {}; }
  void on_response_impl(int, Text, int, ErrorCode& ec) override { ec = {}; }
  void on_field_impl(beast::field name, Text spelled, Text value, ErrorCode& ec) override {
    ec = {};
    inbox_.field(name, view(spelled), view(value), ec);
  }
  void on_header_impl(ErrorCode& ec) override {
    ec = {};
    inbox_.head_done = true;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, ErrorCode& ec) override {
    ec = {};
    if (length) inbox_.body.reserve(std::min<size_t>(*length, kReserveBytesMax));
  }
  size_t on_body_impl(Text bytes, ErrorCode& ec) override {
    ec = {};
    return inbox_.take(view(bytes), ec);
  }
  void on_chunk_header_impl(std::uint64_t size, Text, ErrorCode& ec) override {
    ec = {};
    inbox_.check_room(size, ec);
  }
  size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode& ec) override {
    ec = {};
    return inbox_.take(view(bytes), ec);
  }
  void on_finish_impl(ErrorCode& ec) override { ec = {}; }

 private:
  Inbox& inbox_;
};

class ResponseParser final : public Parser<false> {
 public:
  ResponseParser(Inbox& inbox, Response& response) : Parser(inbox), response_(response) {}

 private:
  void on_response_impl(int status, Text reason, int, ErrorCode& ec) override {
    ec = {};
    response_.status = status;
    response_.reason = view(reason);
  }

  Response& response_;
};

}  // namespace

struct ResponseReader::Impl {
  Impl(size_t max, uint64_t body_max, bool without_body)
      : head_bytes_max(max), head_only(without_body) {
    begin(body_max);
  }

  void begin(uint64_t body_max) {
    inbox = Inbox();
    inbox.body_max = body_max;
    response = Response();
    parser.emplace(inbox, response);
    if (head_only) parser->skip(true);
  }

  void finish() {
    response.body = std::move(inbox.body);
    response.keep_alive = parser->keep_alive() && !parser->need_eof();
  }

  size_t head_bytes_max;
  bool head_only;
  Inbox inbox;
  Response response;
  std::optional<ResponseParser> parser;
  bool started = false;
};

ResponseReader::ResponseReader(size_t head_bytes_max, uint64_t body_bytes_max, bool head_only)
    : impl_(std::make_unique<Impl>(head_bytes_max, body_bytes_max, head_only)) {}
ResponseReader::ResponseReader(ResponseReader&&) noexcept = default;
ResponseReader& ResponseReader::operator=(ResponseReader&&) noexcept = default;
ResponseReader::~ResponseReader() = default;

size_t ResponseReader::consume(std::string_view input) {
  Impl& impl = *impl_;
  impl.started = impl.started || !input.empty();
  size_t used = 0;
  if (!impl.parser->is_header_done()) {
    const auto size = impl.inbox.head_size(input, impl.head_bytes_max);
    if (!size) return 0;
    used = impl.parser->feed(input.substr(0, *size));
    if (!impl.inbox.refusal && !impl.parser->is_header_done())
      impl.inbox.refuse(502, "the answer is malformed");
    if (impl.inbox.refusal) return used;
    impl.parser->eager(true);
    impl.response.headers = std::move(impl.inbox.headers);
    input.remove_prefix(used);
  }
  if (!impl.parser->is_done() && !input.empty()) used += impl.parser->feed(input);
  if (!impl.inbox.refusal && impl.parser->is_done()) impl.finish();
  return used;
}

void ResponseReader::end() {
  Impl& impl = *impl_;
  if (state() == ReadState::complete) return;
  ErrorCode ec;
  if (impl.parser->is_header_done() && impl.parser->need_eof()) impl.parser->put_eof(ec);
  if (ec || !impl.parser->is_done())
    impl.inbox.refuse(502, "the connection ended within the answer");
  else
    impl.finish();
}

std::string ResponseReader::take_body() {
  Impl& impl = *impl_;
  std::string out = std::move(impl.parser->is_done() ? impl.response.body : impl.inbox.body);
  impl.inbox.taken += out.size();
  impl.inbox.body.clear();
  impl.response.body.clear();
  return out;
}

size_t ResponseReader::body_waiting() const {
  return impl_->inbox.body.size() + impl_->response.body.size();
}

void ResponseReader::body_max(uint64_t bytes) { impl_->inbox.body_max = bytes; }

std::optional<uint64_t> ResponseReader::length() const {
  const auto length = impl_->parser->content_length();
  return length ? std::optional<uint64_t>(*length) : std::nullopt;
}

void ResponseReader::restart() { impl_->begin(impl_->inbox.body_max); }

bool ResponseReader::started() const { return impl_->started; }

ReadState ResponseReader::state() const {
  if (impl_->inbox.refusal) return ReadState::refused;
  if (!impl_->parser->is_header_done()) return ReadState::head;
  return impl_->parser->is_done() ? ReadState::complete : ReadState::body;
}

const Refusal& ResponseReader::refusal() const { return *impl_->inbox.refusal; }

Response& ResponseReader::response() { return impl_->response; }

}  // namespace drom::http
