// The contract first: an OpenAPI 3 document becomes the `rest` that it describes, each operation
// with `direct:` and its operationId as target. Load time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drom/base/value.hpp"
#include "drom/config/config.hpp"
#include "drom/spi/route_spec.hpp"

namespace drom {

struct RestContract {
  std::unique_ptr<StepSpec> rest;  // in one place, for who refers to it
  std::string base_path;           // of the first server: "" or "/v1"
  Value document;
};

// `options` are those of the clause openApi. nullopt: reported.
std::optional<RestContract> read_contract(const Config& options, Diagnostics& diagnostics);

}  // namespace drom
