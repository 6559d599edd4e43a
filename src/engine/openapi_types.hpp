// Types and security schemes of an OpenAPI document. Pure; load time.
#pragma once

#include <string>

#include "drom/base/value.hpp"
#include "engine/rest_model.hpp"

namespace drom {

// Names of types become schemas; those that OpenAPI does not know are collected, as references to
// them stand where they are used.
class OpenapiTypes {
 public:
  // "integer", "long", "string", "com.acme.Pet", "Pet[]".
  Value schema(std::string name);
  // With format, default, allowed values and elements.
  Value of_param(const RestParam& param);
  const Object& named() const { return named_; }

 private:
  Object named_;
};

Object security_scheme(const RestModel::Scheme& scheme);

}  // namespace drom
