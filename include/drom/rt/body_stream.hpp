// A body that is read once, piece by piece, and never is in memory as a whole (Camel: a raw stream
// in place of a cached one). Only endpoints that are told to make one: `http:` with
// disableStreamCache, `platform-http:` with useStreaming. It travels in Message::stream, whose body
// is null meanwhile. A step that looks at bodies gets it read into memory first (read_in), so that
// no step but those that pass streams on has to know of them. Shard thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "drom/base/error.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/async.hpp"

namespace drom {

class BodyStream {
 public:
  // What has not been read is given up, and so is what it would have come from.
  virtual ~BodyStream() = default;
  // Bytes from the first to the last, when that is known beforehand.
  virtual std::optional<uint64_t> size() const = 0;
  // Back to the first byte. False: it is gone, so that nothing can be tried again.
  virtual bool rewind() = 0;
  // The next bytes; none at the end. One call at a time. Errors are final.
  virtual async<Result<std::string>> next() = 0;
};

// What a stream may take up in memory when a step wants to look at it, in bytes.
inline constexpr size_t kStreamMemoryMax = 10 * 1024 * 1024;

// Turns the stream of a message, if it has one, into its body. Errors: rejected (larger than
// kStreamMemoryMax), data (read already), and those of the stream.
async<Result<void>> read_in(Message& message);
// The same for exchanges that still run; those whose stream cannot be read fail.
async<> read_in(Batch& batch);
// At least `bytes` of what comes next, or all that is left of it.
async<Result<std::string>> next_block(BodyStream& stream, size_t bytes);
bool has_streams(const Batch& batch);

}  // namespace drom
