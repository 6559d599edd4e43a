// `http` and `https`: sends each exchange as a request and makes the answer its message. Load time.
#pragma once

#include "drom/spi/registry.hpp"

namespace drom::http {

ComponentInfo http_component();

}  // namespace drom::http
