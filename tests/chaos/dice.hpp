// Seeded choices (splitmix64); one state per user.
#pragma once

#include <cstdint>

namespace drom::chaos {

inline uint64_t roll(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
inline uint64_t roll(uint64_t& state, uint64_t sides) { return roll(state) % sides; }

}  // namespace drom::chaos
