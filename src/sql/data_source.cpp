#include "sql/data_source.hpp"

#include "spi/step_support.hpp"

namespace drom::sql {

Result<Database*> find_data_source(const Registry& registry, std::string_view reference) {
  Result<Database*> found =
      named_or_only<Database>(registry, reference, "data source", "dataSource");
  if (!found || *found) return found;
  return Error(ErrorKind::config, "there is no data source",
               "declare one under beans, for example with the type drom.sqlite");
}

}  // namespace drom::sql
