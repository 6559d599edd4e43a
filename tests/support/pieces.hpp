// A stream out of prepared pieces, which may end in an error. Tests only.
#pragma once

#include <string>
#include <vector>

#include "drom/rt/body_stream.hpp"

namespace drom::testing {

class Pieces final : public BodyStream {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::optional<uint64_t> size() const override { return known_size; }
  bool rewind() override { return reads == 0; }
  async<Result<std::string>> next() override {
    const size_t at = reads++;
    if (at < pieces_.size()) co_return pieces_[at];
    if (failure) co_return *failure;
    co_return std::string();
  }

  std::optional<uint64_t> known_size;
  std::optional<Error> failure;  // in place of the end
  size_t reads = 0;

 private:
  std::vector<std::string> pieces_;
};

inline Exchange streamed(std::shared_ptr<BodyStream> stream) {
  Exchange exchange;
  exchange.message.stream = std::move(stream);
  return exchange;
}

}  // namespace drom::testing
