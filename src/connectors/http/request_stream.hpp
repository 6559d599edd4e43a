// The body of a request that the route reads itself, while it arrives. Shard thread only.
#pragma once

#include <memory>
#include <string>

#include "drom/rt/body_stream.hpp"

namespace drom::http {

// The connection that it comes over.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // The next bytes of request number `request`; none at the end. Errors: data (malformed or too
  // large), transient (the client is gone, the request is answered).
  virtual async<Result<std::string>> next(uint64_t request) = 0;
};

class RequestStream final : public BodyStream {
 public:
  RequestStream(std::shared_ptr<RequestSource> source, uint64_t request,
                std::optional<uint64_t> size)
      : source_(std::move(source)), request_(request), size_(size) {}
  std::optional<uint64_t> size() const override { return size_; }
  bool rewind() override { return !begun_; }
  async<Result<std::string>> next() override {
    begun_ = true;
    return source_->next(request_);
  }

 private:
  std::shared_ptr<RequestSource> source_;
  uint64_t request_;
  std::optional<uint64_t> size_;
  bool begun_ = false;
};

}  // namespace drom::http
