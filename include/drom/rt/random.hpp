// Randomness that can be seeded. Not for secrets. One per shard.
#pragma once

#include <cstdint>
#include <string>

namespace drom {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Uniform in [low, high]; low when high < low.
  int64_t between(int64_t low, int64_t high);
  // A version 4 UUID in text form.
  std::string uuid();

 private:
  uint64_t state_;
};

// A seed that differs per process start.
uint64_t entropy_seed();

}  // namespace drom
