// A data source that keeps the sends of its transactions in an outbox. Load time.
#pragma once

#include <string>

#include "drom/spi/build_context.hpp"
#include "drom/sql/database.hpp"

namespace drom::sql {

// Stores them through the producer of `outbox:OUTBOX` and adds the route that relays them.
void keep_sends(const std::string& data_source, const std::string& outbox, const Location& where,
                Database& database, BuildContext& context);

}  // namespace drom::sql
