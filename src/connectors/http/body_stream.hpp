// Bodies that never are in memory as a whole: where the bytes of a request come from, and where
// those of an answer go. Implemented over files by file_body.*. Shard thread only.
#pragma once

#include <cstdint>
#include <string>

#include "drom/base/error.hpp"
#include "drom/rt/async.hpp"

namespace drom::http {

struct Response;

class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual uint64_t size() const = 0;
  // The request may be sent again.
  virtual void rewind() = 0;
  // The next bytes; none at the end.
  virtual async<Result<std::string>> next() = 0;
};

class BodySink {
 public:
  virtual ~BodySink() = default;
  // An answer begins; what came before is void. False: its body goes into the Response as usual.
  virtual bool begin(const Response& head) = 0;
  virtual async<Result<void>> take(std::string bytes) = 0;
};

}  // namespace drom::http
