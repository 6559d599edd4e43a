#include "sql/data_source.hpp"

#include "drom/config/location.hpp"
#include "spi/step_support.hpp"

namespace drom::sql {

Result<Database*> find_data_source(const Registry& registry, std::string_view reference) {
  const std::vector<std::string> names = registry.names<Database>();
  if (!reference.empty()) {
    const std::string_view name = bean_name(reference);
    if (Database* database = registry.find<Database>(name)) return database;
    return Error(ErrorKind::config, "there is no data source '" + std::string(name) + "'",
                 did_you_mean(name, names));
  }
  if (names.size() == 1) return registry.find<Database>(names.front());
  if (names.empty())
    return Error(ErrorKind::config, "there is no data source",
                 "declare one under beans, for example with the type drom.sqlite");
  return Error(ErrorKind::config, "there are several data sources and none is named",
               "choose one with dataSource=#" + names.front());
}

}  // namespace drom::sql
