// Immutable bytes with shared ownership, so that a body can adopt a library's buffer without a copy
// (rd_kafka_message_t, PGresult, a read buffer). Cheap to copy. Any thread may read.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace drom {

class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string owned)
      : Bytes(std::make_shared<const std::string>(std::move(owned))) {}
  // `view` must stay valid as long as `owner` lives.
  Bytes(std::shared_ptr<const void> owner, std::string_view view)
      : owner_(std::move(owner)), view_(view) {}

  std::string_view view() const { return view_; }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  friend bool operator==(const Bytes& a, const Bytes& b) { return a.view_ == b.view_; }

 private:
  explicit Bytes(std::shared_ptr<const std::string> text) : owner_(text), view_(*text) {}

  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

}  // namespace drom
