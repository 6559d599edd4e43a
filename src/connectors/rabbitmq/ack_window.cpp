#include "connectors/rabbitmq/ack_window.hpp"

namespace drom::rabbitmq {

bool AckWindow::settle(uint64_t tag) {
  if (tag < first_ || tag - first_ >= open_.size() || !open_[tag - first_]) return false;
  open_[tag - first_] = false;
  drop_settled();
  return true;
}

void AckWindow::drop_settled() {
  while (!open_.empty() && !open_.front()) {
    open_.pop_front();
    ++first_;
  }
}

AckPlan AckWindow::plan(const std::vector<uint64_t>& tags) {
  std::vector<uint64_t> valid;
  for (const uint64_t tag : tags) {
    if (tag < first_ || tag - first_ >= open_.size() || !open_[tag - first_]) continue;
    open_[tag - first_] = false;
    valid.push_back(tag);
  }
  drop_settled();
  AckPlan out;
  size_t together = 0;
  for (const uint64_t tag : valid) {
    if (tag >= first_) {
      out.single.push_back(tag);
      continue;
    }
    ++together;
    if (tag > out.up_to) out.up_to = tag;
  }
  if (together == 1) {
    out.single.push_back(out.up_to);
    out.up_to = 0;
  }
  return out;
}

}  // namespace drom::rabbitmq
