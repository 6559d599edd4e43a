// The specs of what stands around the steps: from, route, onException, the error handlers,
// routeConfiguration, rest. Read by the YAML reader (validation, schema), the reference pages and
// the engine. Plain data.
#pragma once

#include "drom/config/option_spec.hpp"

namespace drom {

ConfigSpec from_spec();
ConfigSpec route_spec();
ConfigSpec route_configuration_spec();
ConfigSpec on_exception_spec();
// errorHandler's three forms. A StepSpec of an error handler carries one of these names.
ConfigSpec default_error_handler_spec();  // "defaultErrorHandler"
ConfigSpec dead_letter_channel_spec();    // "deadLetterChannel"
ConfigSpec no_error_handler_spec();       // "noErrorHandler"

// `rest`: its clauses are the verbs, each with `to` or steps; and what all of them share.
ConfigSpec rest_spec();
ConfigSpec rest_configuration_spec();
const std::vector<std::string>& rest_verbs();  // "get", "post" ...

// id, description, note, disabled: allowed on every node, handled by the reader and the engine.
const std::vector<OptionSpec>& common_options();

}  // namespace drom
