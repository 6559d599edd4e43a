// Reads a route file: Camel's YAML DSL, classic and canonical, into plain specs. The form is
// checked here, with all errors at once and each at its place; the values are checked by the
// engine.
#pragma once

#include <string>
#include <string_view>

#include "drom/spi/registry.hpp"
#include "drom/spi/route_spec.hpp"

namespace drom {

// Appends what the text declares to `out`, as far as it can be read, and keeps the text in
// `diagnostics` so that messages show its lines. False: at least one error was added. The registry
// must hold the steps.
bool read_yaml(std::string_view text, const std::string& file, const Registry& registry,
               ContextSpec& out, Diagnostics& diagnostics);

}  // namespace drom
