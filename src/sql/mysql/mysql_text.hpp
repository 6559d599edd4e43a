// `$1`, `$2` ... as our statements write parameters -> `?` as MySQL's protocol wants them. Quoted
// texts, quoted names and comments are left alone. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drom/base/error.hpp"

namespace drom::sql {

struct MysqlText {
  std::string sql;
  std::vector<size_t> parameters;  // of each `?`: which of the given values, from 0
  size_t parameter_count = 0;      // how many values must be given
};

// Fails for a bare `?`, which would shift all values, and for `$0`.
Result<MysqlText> translate_parameters(std::string_view sql);

}  // namespace drom::sql
