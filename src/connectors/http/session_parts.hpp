// Parts of a session that know nothing of it: its input buffer and its share of the memory for
// bodies. Shard thread only.
#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <memory>
#include <string_view>

#include "connectors/http/server.hpp"
#include "drom/base/assert.hpp"

namespace drom::http {

// What has been read and is not yet understood.
class InputBuffer {
 public:
  explicit InputBuffer(size_t capacity)
      : capacity_(capacity), bytes_(std::make_unique<char[]>(capacity)) {}
  std::string_view unread() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  void took(size_t n) { begin_ += n; }
  void read(size_t n) { end_ += n; }
  void clear() { begin_ = end_ = 0; }
  // Room for at least one byte. The capacity exceeds what a reader leaves unread.
  boost::asio::mutable_buffer room() {
    if (empty()) {
      clear();
    } else if (end_ == capacity_) {
      DROM_ASSERT(begin_ > 0);
      std::copy(bytes_.get() + begin_, bytes_.get() + end_, bytes_.get());
      end_ -= begin_;
      begin_ = 0;
    }
    return boost::asio::buffer(bytes_.get() + end_, capacity_ - end_);
  }

 private:
  size_t capacity_;
  std::unique_ptr<char[]> bytes_;
  size_t begin_ = 0;
  size_t end_ = 0;
};

// The bytes of one body among those of all requests without an answer.
class HeldBody {
 public:
  explicit HeldBody(HttpServer& server) : server_(server) {}
  HeldBody(const HeldBody&) = delete;
  HeldBody& operator=(const HeldBody&) = delete;
  ~HeldBody() { release(); }
  // False: together they fill the memory that they may have. One alone may be as large as its route
  // allows.
  bool hold(size_t bytes) {
    release();
    server_.hold_body(bytes);
    held_ = bytes;
    return server_.held_bodies() <= server_.settings().body_memory_max ||
           server_.held_bodies() == held_;
  }
  void release() {
    server_.release_body(held_);
    held_ = 0;
  }

 private:
  HttpServer& server_;
  size_t held_ = 0;
};

}  // namespace drom::http
