#include "connectors/http/content_coding.hpp"

#include <gtest/gtest.h>

#include "support/gzip.hpp"

namespace drom::http {
namespace {

using drom::testing::pack;
using drom::testing::Packing;

const std::string kText = "{\"name\":\"K\xc3\xa4the\",\"n\":[1,2,3,1,2,3,1,2,3]}";

// What came out, or what was wrong.
std::string decoded(std::string_view codings, std::string_view body, DecodeLimits limits = {}) {
  std::string out;
  const Decoded outcome = decode_content(codings, body, limits, out);
  return outcome == Decoded::ok ? out : "!" + std::string(to_string(outcome));
}

std::string failure(Decoded outcome) { return "!" + std::string(to_string(outcome)); }

TEST(ContentCoding, DecodesWhatItKnows) {
  EXPECT_EQ(decoded("gzip", pack(kText)), kText);
  EXPECT_EQ(decoded("X-GZIP", pack(kText)), kText);
  EXPECT_EQ(decoded("deflate", pack(kText, Packing::zlib)), kText);
  EXPECT_EQ(decoded("", kText), kText);
  EXPECT_EQ(decoded("identity", kText), kText);
}

TEST(ContentCoding, TakesBareDeflateAsBrowsersDo) {
  EXPECT_EQ(decoded("deflate", pack(kText, Packing::bare)), kText);
}

TEST(ContentCoding, UndoesSeveralCodingsFromTheLastToTheFirst) {
  EXPECT_EQ(decoded("deflate, gzip", pack(pack(kText, Packing::zlib))), kText);
  EXPECT_EQ(decoded("gzip, identity ,gzip", pack(pack(kText))), kText);
}

TEST(ContentCoding, ReadsAllMembersOfAGzipFile) {
  EXPECT_EQ(decoded("gzip", pack("one ") + pack("") + pack("two")), "one two");
}

TEST(ContentCoding, GivesTheSameInPiecesOfOneByte) {
  std::string big;
  for (int i = 0; i < 20'000; ++i) big += std::to_string(i * 7919);
  const std::string packed = pack(big);
  ContentDecoder decoder("gzip", DecodeLimits());
  std::string out;
  for (const char c : packed) ASSERT_EQ(decoder.feed(std::string_view(&c, 1), out), Decoded::ok);
  EXPECT_EQ(decoder.finish(), Decoded::ok);
  EXPECT_EQ(out, big);
}

TEST(ContentCoding, ABodyOfNoBytesIsFineInEveryCoding) {
  EXPECT_EQ(decoded("gzip", ""), "");
  EXPECT_EQ(decoded("deflate", ""), "");
}

TEST(ContentCoding, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(decoded("zstd", "x"), failure(Decoded::unknown));
  EXPECT_EQ(decoded("gzip, compress", "x"), failure(Decoded::unknown));
  EXPECT_EQ(decoded("gzip,gzip,gzip,gzip", "x"), failure(Decoded::unknown));
}

TEST(ContentCoding, RefusesDamagedBodies) {
  const std::string packed = pack(kText);
  std::string flipped = packed;
  flipped[flipped.size() - 6] ^= 1;  // in its checksum
  EXPECT_EQ(decoded("gzip", packed.substr(0, packed.size() - 1)), failure(Decoded::damaged));
  EXPECT_EQ(decoded("gzip", flipped), failure(Decoded::damaged));
  EXPECT_EQ(decoded("gzip", "plain text"), failure(Decoded::damaged));
  EXPECT_EQ(decoded("gzip", packed + "behind"), failure(Decoded::damaged));
  EXPECT_EQ(decoded("deflate", pack("a", Packing::zlib) + "b"), failure(Decoded::damaged));
}

TEST(ContentCoding, StopsABombAtTheLimitOfItsSize) {
  const std::string bomb = pack(std::string(20'000'000, '\0'));
  ASSERT_LT(bomb.size(), 30'000u);
  DecodeLimits limits;
  limits.ratio_max = 1'000'000;
  limits.bytes_max = 1'000'000;
  ContentDecoder decoder("gzip", limits);
  std::string out;
  EXPECT_EQ(decoder.feed(bomb, out), Decoded::too_large);
  EXPECT_LE(out.size(), 1'000'000u);
  EXPECT_EQ(decoder.feed(bomb, out), Decoded::too_large) << "it stays so";
}

TEST(ContentCoding, StopsABombAtTheLimitOfItsRatio) {
  DecodeLimits limits;
  limits.bytes_max = 1'000'000'000;
  ContentDecoder decoder("gzip", limits);
  std::string out;
  EXPECT_EQ(decoder.feed(pack(std::string(50'000'000, 'a')), out), Decoded::too_large);
  EXPECT_LT(out.size(), 12'000'000u);
}

TEST(ContentCoding, ALayerInBetweenHasTheLimitsToo) {
  // A hundred million bytes that would unfold once more: the second layer never sees them all.
  const std::string nested = pack(pack(std::string(100'000'000, '\0')));
  DecodeLimits limits;
  limits.bytes_max = 100'000;
  EXPECT_EQ(decoded("gzip, gzip", nested, limits), failure(Decoded::too_large));
}

TEST(ContentCoding, HighRatiosOfSmallBodiesAreNoBomb) {
  const std::string blank(1'000'000, ' ');
  EXPECT_EQ(decoded("gzip", pack(blank)), blank);
}

#ifdef DROM_BROTLI
const std::string_view kBrotli(
    "\x0b\x09\x80"
    "brown fox brown fox\x03");
// 50 MB of zeros.
const std::string_view kBrotliBomb(
    "\xcb\xff\xff\x3f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x8f\xff\xff\x7f\xf0\x4f\x00\xc4\x61\x11"
    "\x80\xee\xfd\x1f\xff\xff\xff\xe0\x9f\x00\x88\xc3\x02\x00\xdd\xfb\x3f\xfe\xff\xff\xc1\x3f\x01"
    "\x10\x87\x05\x00\xba\xf7\x7f\xfc\xff\xff\x83\x7f\x02\x20\x0e\x0b\x00\x74\xef\xff\xf8\xff\xff"
    "\x07\xff\x04\x40\x1c\x16\x00\xe8\xde\xff\xe5\xff\xff\x07\xfe\x09\x80\x38\x2c\x00\xd0\xbd\xff"
    "\x00",
    93);

TEST(ContentCoding, DecodesBrotli) {
  EXPECT_EQ(decoded("br", kBrotli), "brown fox brown fox");
  EXPECT_EQ(decoded("br", kBrotli.substr(0, 8)), failure(Decoded::damaged));
  EXPECT_EQ(decoded("br", std::string(kBrotli) + "x"), failure(Decoded::damaged));
  EXPECT_NE(accepted_codings().find("br"), std::string_view::npos);
}

TEST(ContentCoding, StopsABombOfBrotli) {
  std::string out;
  ContentDecoder decoder("br", DecodeLimits());
  EXPECT_EQ(decoder.feed(kBrotliBomb, out), Decoded::too_large);
  EXPECT_LE(out.size(), 2'000'000u);
}
#else
TEST(ContentCoding, DoesNotAskForBrotliWithoutTheLibrary) {
  EXPECT_EQ(decoded("br", "x"), failure(Decoded::unknown));
  EXPECT_EQ(accepted_codings().find("br"), std::string_view::npos);
}
#endif

}  // namespace
}  // namespace drom::http
