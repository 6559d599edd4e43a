#include "drom/rt/random.hpp"

#include <random>

namespace drom {

// splitmix64: every seed gives a full-period, well-mixed sequence.
uint64_t Rng::next() {
  state_ += 0x9e3779b97f4a7c15U;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

int64_t Rng::between(int64_t low, int64_t high) {
  if (high <= low) return low;
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  if (span == 0) return static_cast<int64_t>(next());
  // Rejects the tail that would make low numbers more likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % span;
  uint64_t draw = next();
  while (draw >= limit) draw = next();
  return static_cast<int64_t>(static_cast<uint64_t>(low) + draw % span);
}

std::string Rng::uuid() {
  constexpr char kHex[] = "0123456789abcdef";
  uint64_t words[2] = {next(), next()};
  words[0] = (words[0] & ~uint64_t{0xf000}) | 0x4000;
  words[1] = (words[1] & ~(uint64_t{0xc} << 60)) | (uint64_t{0x8} << 60);
  std::string out;
  out.reserve(36);
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    out += kHex[words[i / 16] >> (60 - 4 * (i % 16)) & 15];
  }
  return out;
}

uint64_t entropy_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace drom
