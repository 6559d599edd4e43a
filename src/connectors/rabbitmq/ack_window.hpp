// Which deliveries of a channel are still open, so that acknowledgements can be sent as one where
// they are without a gap. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace drom::rabbitmq {

struct AckPlan {
  uint64_t up_to = 0;  // one with multiple=true; 0: none
  std::vector<uint64_t> single;
};

class AckWindow {
 public:
  // The channel numbers them from 1 without a gap.
  void delivered() { open_.push_back(true); }
  // Rejected, or acknowledged by itself. False: it is not open.
  bool settle(uint64_t tag);
  // How to acknowledge these, which then are settled.
  AckPlan plan(const std::vector<uint64_t>& tags);
  size_t size() const { return open_.size(); }

 private:
  void drop_settled();

  uint64_t first_ = 1;
  std::deque<bool> open_;
};

}  // namespace drom::rabbitmq
