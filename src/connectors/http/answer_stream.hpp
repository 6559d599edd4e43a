// Bodies of answers that are read while they arrive, and the unpacking of streamed bodies. Shard
// thread only.
#pragma once

#include <memory>
#include <string>

#include "connectors/http/content_coding.hpp"
#include "connectors/http/pool.hpp"
#include "drom/rt/body_stream.hpp"

namespace drom::http {

class HttpClient;

// The rest of an answer on its connection, which goes back to the pool at the end.
class AnswerStream final : public BodyStream {
 public:
  struct Way {
    std::shared_ptr<HttpClient> client;  // lives as long as its connections
    std::shared_ptr<ConnectionPool::Host> host;
    ConnectionPool::Lease lease;
    std::unique_ptr<Connection> connection;  // unfinished()
    milliseconds response_timeout;
    milliseconds idle_timeout;
  };
  explicit AnswerStream(Way way);
  ~AnswerStream() override;
  std::optional<uint64_t> size() const override { return size_; }
  bool rewind() override { return !begun_; }
  async<Result<std::string>> next() override;

 private:
  std::optional<Way> way_;  // until the end
  std::optional<uint64_t> size_;
  bool begun_ = false;
};

// A packed stream, unpacked.
class DecodedStream final : public BodyStream {
 public:
  DecodedStream(std::shared_ptr<BodyStream> packed, std::string_view codings,
                const DecodeLimits& limits)
      : packed_(std::move(packed)), decoder_(codings, limits) {}
  bool known() const { return decoder_.state() != Decoded::unknown; }  // its codings
  std::optional<uint64_t> size() const override { return std::nullopt; }
  bool rewind() override { return packed_->rewind(); }
  // Errors besides those of the packed one: data.
  async<Result<std::string>> next() override;

 private:
  std::shared_ptr<BodyStream> packed_;
  ContentDecoder decoder_;
  bool ended_ = false;
};

}  // namespace drom::http
