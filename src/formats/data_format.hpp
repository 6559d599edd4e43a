// What marshal and unmarshal ask of a format. Called on the shard; never waits, never throws.
#pragma once

#include <string_view>

#include "drom/base/value.hpp"

namespace drom {

class DataFormat {
 public:
  virtual ~DataFormat() = default;
  virtual Result<Value> marshal(const Value& body) const = 0;
  virtual Result<Value> unmarshal(const Value& body) const = 0;
  virtual std::string_view content_type() const = 0;  // "" when the header stays as it is
};

}  // namespace drom
