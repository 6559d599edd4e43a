// What an operation of `rest` does with a request before its target sees it: defaults of missing
// parameters, clientRequestValidation, and bindingMode.
#pragma once

#include "drom/spi/processor.hpp"
#include "engine/rest_model.hpp"

namespace drom {

// Empty: there is nothing to do.
ProcessFunction make_rest_check(const RestOperation& operation);

// Takes the defaults out again, which would else be sent back as headers of the answer. Empty:
// there are none.
ProcessFunction make_rest_cleanup(const RestOperation& operation);

// Answers the request with a JSON error and ends the route: bad requests are no business of error
// handlers and dead letter channels.
void refuse_request(Exchange& exchange, int status, std::string_view message);

}  // namespace drom
