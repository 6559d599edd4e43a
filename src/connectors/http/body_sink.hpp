// Where the bytes of an answer go when they never are in memory as a whole. Implemented over files
// by file_body.*. Shard thread only.
#pragma once

#include <string>

#include "drom/base/error.hpp"
#include "drom/rt/async.hpp"

namespace drom::http {

struct Response;

class BodySink {
 public:
  virtual ~BodySink() = default;
  // An answer begins; what came before is void. False: its body goes into the Response as usual.
  virtual bool begin(const Response& head) = 0;
  virtual async<Result<void>> take(std::string bytes) = 0;
};

}  // namespace drom::http
