#include <algorithm>
#include <optional>

#include "connectors/http/chunk_reader.hpp"
#include "connectors/http/message_reader.hpp"
#include "connectors/http/request_head.hpp"

namespace drom::http {
namespace {

constexpr size_t kReserveBytesMax = 64 * 1024;  // a claimed Content-Length is not yet a body

}  // namespace

struct RequestReader::Impl {
  explicit Impl(size_t max) : head_bytes_max(max) {}

  size_t consume_head(std::string_view input) {
    size_t used = 0;
    // Empty lines before a request are to be ignored (RFC 9112, 2.2).
    while (fresh && input.substr(used).starts_with("\r\n")) used += 2;
    input.remove_prefix(used);
    if (input.empty() || input == "\r") return used;
    fresh = false;
    const std::optional<size_t> size = scanner.scan(input.substr(0, head_bytes_max), refusal);
    if (!size && !refusal && scanner.has_line() && !line_checked) {
      line_checked = true;
      refusal = check_request_line(input);
    }
    if (!size && !refusal && input.size() >= head_bytes_max)
      refusal = scanner.has_line() ? Refusal{431, "the header fields are too large"}
                                   : Refusal{414, "the target is too long"};
    if (!size || refusal) return used;
    refusal = read_request_head(input.substr(0, *size), request, framing);
    if (!refusal) finish_head();
    return used + *size;
  }

  void finish_head() {
    head_done = true;
    const std::string_view target = request.target;
    const size_t mark = target.find('?');
    request.path = target.substr(0, mark);
    request.query = mark == std::string::npos ? std::string_view() : target.substr(mark + 1);
    left = framing.length;
  }

  size_t consume_body(std::string_view input) {
    const uint64_t room = body_max - std::min(body_max, taken);
    if (framing.chunked) return chunks.consume(input, request.body, room, refusal);
    if (left > room - std::min<uint64_t>(room, request.body.size())) {
      refusal = Refusal{413, "the body is too large"};
      return 0;
    }
    if (request.body.empty())
      request.body.reserve(static_cast<size_t>(std::min<uint64_t>(left, kReserveBytesMax)));
    const size_t n = static_cast<size_t>(std::min<uint64_t>(left, input.size()));
    request.body.append(input, 0, n);
    left -= n;
    return n;
  }

  bool body_done() const { return framing.chunked ? chunks.complete() : left == 0; }

  size_t head_bytes_max;
  Request request;
  Framing framing;
  HeadScanner scanner;
  ChunkReader chunks;
  std::optional<Refusal> refusal;
  uint64_t body_max = UINT64_MAX;
  uint64_t left = 0;   // of a body with a length
  uint64_t taken = 0;  // of the body, by take_body()
  bool fresh = true;   // nothing of the request has arrived
  bool line_checked = false;
  bool head_done = false;
};

RequestReader::RequestReader(size_t head_bytes_max)
    : impl_(std::make_unique<Impl>(head_bytes_max)) {}
RequestReader::~RequestReader() = default;

size_t RequestReader::consume(std::string_view input) {
  Impl& impl = *impl_;
  if (impl.refusal) return 0;
  if (!impl.head_done) return impl.consume_head(input);
  return impl.body_done() ? 0 : impl.consume_body(input);
}

ReadState RequestReader::state() const {
  if (impl_->refusal) return ReadState::refused;
  if (!impl_->head_done) return ReadState::head;
  return impl_->body_done() ? ReadState::complete : ReadState::body;
}

const Refusal& RequestReader::refusal() const { return *impl_->refusal; }

Request& RequestReader::request() { return impl_->request; }

bool RequestReader::body_max(uint64_t bytes) {
  impl_->body_max = bytes;
  return impl_->framing.chunked || impl_->framing.length <= bytes;
}

std::string RequestReader::take_body() {
  std::string out = std::move(impl_->request.body);
  impl_->request.body.clear();
  impl_->taken += out.size();
  return out;
}

std::optional<uint64_t> RequestReader::length() const {
  if (impl_->framing.chunked) return std::nullopt;
  return impl_->framing.length;
}

void RequestReader::reset() {
  const size_t max = impl_->head_bytes_max;
  *impl_ = Impl(max);
}

}  // namespace drom::http
