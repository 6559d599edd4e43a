// Packs texts for tests of content codings. Any thread.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

#include "drom/base/assert.hpp"

namespace drom::testing {

enum class Packing { gzip, zlib, bare };

inline std::string pack(std::string_view text, Packing packing = Packing::gzip) {
  z_stream stream{};
  const int bits = packing == Packing::gzip ? 31 : packing == Packing::zlib ? 15 : -15;
  DROM_ASSERT(deflateInit2(&stream, 9, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  std::string input(text);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  DROM_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace drom::testing
