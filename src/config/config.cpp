#include "drom/config/config.hpp"

#include "drom/base/assert.hpp"

namespace drom {

const Config::Entry& Config::entry(std::string_view name) const {
  const auto found = entries_.find(name);
  DROM_ASSERT(found != entries_.end());
  return found->second;
}

bool Config::given(std::string_view name) const { return entry(name).given; }
bool Config::has(std::string_view name) const { return entry(name).present; }
const std::string& Config::text(std::string_view name) const { return entry(name).text; }
int64_t Config::integer(std::string_view name) const { return entry(name).integer; }
double Config::number(std::string_view name) const { return entry(name).number; }
bool Config::flag(std::string_view name) const { return entry(name).flag; }
milliseconds Config::duration(std::string_view name) const {
  return milliseconds(entry(name).integer);
}
const std::vector<std::string>& Config::list(std::string_view name) const {
  return entry(name).list;
}
ExpressionPtr Config::expression(std::string_view name) const { return entry(name).expression; }
Location Config::where(std::string_view name) const {
  const Entry& found = entry(name);
  return found.given ? found.where : where_;
}

}  // namespace drom
