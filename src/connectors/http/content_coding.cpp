#include "connectors/http/content_coding.hpp"

#include <zlib.h>

#ifdef DROM_BROTLI
#include <brotli/decode.h>
#endif

#include <algorithm>
#include <array>
#include <limits>

#include "drom/model/headers.hpp"

namespace drom::http {
namespace {

constexpr size_t kCodingsMax = 3;
constexpr size_t kPieceBytes = 32 * 1024;
constexpr size_t kInputMax = std::numeric_limits<uInt>::max() / 2;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

// One coding. step() takes from the front of `input`, gives at most one piece, and says where it
// stands.
class ContentDecoder::Layer {
 public:
  enum class State : uint8_t { more, ended, damaged };

  virtual ~Layer() = default;
  virtual State step(std::string_view& input, std::string_view& piece) = 0;
  // Counts what went in and came out, against the limits.
  bool within(const DecodeLimits& limits, size_t taken, size_t given) {
    taken_ += taken;
    given_ += given;
    if (given_ > limits.bytes_max) return false;
    return given_ <= limits.ratio_free || given_ / limits.ratio_max <= taken_;
  }

  State state = State::more;

 protected:
  std::array<char, kPieceBytes> room_;

 private:
  uint64_t taken_ = 0;
  uint64_t given_ = 0;
};

namespace {

using Layer = ContentDecoder::Layer;

// gzip with its members one after another, and deflate, which is zlib by the book and bare in the
// field.
class ZlibLayer final : public Layer {
 public:
  explicit ZlibLayer(bool gzip) : gzip_(gzip) {}
  ~ZlibLayer() override {
    if (open_) inflateEnd(&stream_);
  }
  ZlibLayer(const ZlibLayer&) = delete;
  ZlibLayer& operator=(const ZlibLayer&) = delete;

  State step(std::string_view& input, std::string_view& piece) override {
    if (!open_ && !begin(static_cast<unsigned char>(input.front()))) return State::damaged;
    if (member_ended_) {
      if (!gzip_ || inflateReset(&stream_) != Z_OK) return State::damaged;
      member_ended_ = false;
    }
    // zlib only reads from there; its interface is older than const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(input.data()));
    stream_.avail_in = static_cast<uInt>(std::min(input.size(), kInputMax));
    stream_.next_out = reinterpret_cast<Bytef*>(room_.data());
    stream_.avail_out = static_cast<uInt>(room_.size());
    const uInt offered = stream_.avail_in;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    input.remove_prefix(offered - stream_.avail_in);
    piece = std::string_view(room_.data(), room_.size() - stream_.avail_out);
    if (result == Z_STREAM_END) {
      member_ended_ = true;
      return State::ended;
    }
    return result == Z_OK || result == Z_BUF_ERROR ? State::more : State::damaged;
  }

 private:
  bool begin(unsigned char first) {
    constexpr int kWindow = 15;
    // A zlib stream says so in its first byte; bare deflate cannot begin with it.
    const bool zlib = (first & 0x0f) == Z_DEFLATED && (first >> 4) <= 7;
    const int bits = gzip_ ? kWindow + 16 : zlib ? kWindow : -kWindow;
    open_ = inflateInit2(&stream_, bits) == Z_OK;
    return open_;
  }

  z_stream stream_{};
  bool gzip_;
  bool open_ = false;
  bool member_ended_ = false;
};

#ifdef DROM_BROTLI
class BrotliLayer final : public Layer {
 public:
  BrotliLayer() : decoder_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {}
  ~BrotliLayer() override { BrotliDecoderDestroyInstance(decoder_); }
  BrotliLayer(const BrotliLayer&) = delete;
  BrotliLayer& operator=(const BrotliLayer&) = delete;

  State step(std::string_view& input, std::string_view& piece) override {
    if (ended_ || !decoder_) return State::damaged;
    size_t left = input.size();
    const auto* next = reinterpret_cast<const uint8_t*>(input.data());
    size_t free = room_.size();
    auto* out = reinterpret_cast<uint8_t*>(room_.data());
    const BrotliDecoderResult result =
        BrotliDecoderDecompressStream(decoder_, &left, &next, &free, &out, nullptr);
    input.remove_prefix(input.size() - left);
    piece = std::string_view(room_.data(), room_.size() - free);
    ended_ = result == BROTLI_DECODER_RESULT_SUCCESS;
    if (ended_) return State::ended;
    return result == BROTLI_DECODER_RESULT_ERROR ? State::damaged : State::more;
  }

 private:
  BrotliDecoderState* decoder_;
  bool ended_ = false;
};
#endif

// Null: not known.
std::unique_ptr<Layer> make_layer(std::string_view coding) {
  if (iequals(coding, "gzip") || iequals(coding, "x-gzip"))
    return std::make_unique<ZlibLayer>(true);
  if (iequals(coding, "deflate")) return std::make_unique<ZlibLayer>(false);
#ifdef DROM_BROTLI
  if (iequals(coding, "br")) return std::make_unique<BrotliLayer>();
#endif
  return nullptr;
}

}  // namespace

std::string_view to_string(Decoded outcome) {
  switch (outcome) {
    case Decoded::ok: return "is fine";
    case Decoded::unknown: return "has a content coding that is not known";
    case Decoded::damaged: return "is not what its content coding says";
    case Decoded::too_large: return "unfolds beyond the limit";
  }
  return "";
}

std::string_view accepted_codings() {
#ifdef DROM_BROTLI
  return "gzip, deflate, br";
#else
  return "gzip, deflate";
#endif
}

ContentDecoder::ContentDecoder(std::string_view codings, const DecodeLimits& limits)
    : limits_(limits) {
  while (!codings.empty()) {
    const size_t comma = codings.find(',');
    const std::string_view coding = trim(codings.substr(0, comma));
    codings = comma == std::string_view::npos ? std::string_view() : codings.substr(comma + 1);
    if (coding.empty() || iequals(coding, "identity")) continue;
    std::unique_ptr<Layer> layer = make_layer(coding);
    if (!layer || layers_.size() == kCodingsMax) {
      state_ = Decoded::unknown;
      return;
    }
    layers_.insert(layers_.begin(), std::move(layer));
  }
}

ContentDecoder::~ContentDecoder() = default;
ContentDecoder::ContentDecoder(ContentDecoder&&) noexcept = default;
ContentDecoder& ContentDecoder::operator=(ContentDecoder&&) noexcept = default;

Decoded ContentDecoder::feed(std::string_view input, std::string& out) {
  if (state_ != Decoded::ok || input.empty()) return state_;
  fed_ = true;
  state_ = run(0, input, out);
  return state_;
}

Decoded ContentDecoder::run(size_t index, std::string_view input, std::string& out) {
  if (index == layers_.size()) {
    plain_bytes_ += input.size();
    if (plain_bytes_ > limits_.bytes_max) return Decoded::too_large;
    out.append(input);
    return Decoded::ok;
  }
  Layer& layer = *layers_[index];
  bool full = false;  // a piece that fills the room may have more behind it
  while (!input.empty() || full) {
    const size_t before = input.size();
    std::string_view piece;
    layer.state = layer.step(input, piece);
    if (layer.state == Layer::State::damaged) return Decoded::damaged;
    if (!layer.within(limits_, before - input.size(), piece.size())) return Decoded::too_large;
    full = piece.size() == kPieceBytes && layer.state == Layer::State::more;
    if (!piece.empty()) {
      const Decoded next = run(index + 1, piece, out);
      if (next != Decoded::ok) return next;
    } else if (before == input.size() && layer.state == Layer::State::more && !full) {
      break;  // nothing moves: it waits for more input than there is
    }
  }
  return Decoded::ok;
}

Decoded ContentDecoder::finish() {
  if (state_ != Decoded::ok || !fed_) return state_;
  for (const auto& layer : layers_)
    if (layer->state != Layer::State::ended) state_ = Decoded::damaged;
  return state_;
}

Decoded decode_content(std::string_view codings, std::string_view body, const DecodeLimits& limits,
                       std::string& out) {
  ContentDecoder decoder(codings, limits);
  std::string decoded;
  Decoded outcome = decoder.feed(body, decoded);
  if (outcome == Decoded::ok) outcome = decoder.finish();
  if (outcome == Decoded::ok) out = std::move(decoded);
  return outcome;
}

}  // namespace drom::http
