// Finds the data source that an option names, or the only one when it names none. Load time.
#pragma once

#include <string_view>

#include "drom/base/error.hpp"
#include "drom/spi/registry.hpp"
#include "drom/sql/database.hpp"

namespace drom::sql {

// `reference` is a bean name, also as "#name" or "#bean:name"; empty: the only data source.
Result<Database*> find_data_source(const Registry& registry, std::string_view reference);

}  // namespace drom::sql
