// sql: statements against a data source, as a step (producer) or as a polled source (consumer).
// Statements are parsed once; values are only ever bound; everything joins the unit of work.
#pragma once

namespace drom {

class Registry;

void register_sql_component(Registry& registry);

}  // namespace drom
