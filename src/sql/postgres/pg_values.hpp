// Values <-> PostgreSQL's text format. Parameters are written for the type that the server has
// inferred; results become: bool, int2/4/8 -> integer, float4/8 -> real, numeric -> Decimal, bytea ->
// Bytes, timestamptz -> time, json and jsonb -> the parsed document (text when our parser refuses it;
// select `column::text` to keep the digits as they are), everything else -> text. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/value.hpp"

namespace drom::sql {

using Oid = unsigned int;

// A value on its way out, for PQsendQueryPrepared. `data` is null for NULL; it points into the Value
// or into `owned`.
struct PgParam {
  std::string owned;
  const char* data = nullptr;
  int size = 0;
  bool binary = false;
};
// Fails for what PostgreSQL cannot hold: text with a NUL byte. `out.owned` is reused.
Result<void> encode(const Value& value, Oid type, PgParam& out);

// A column that is not NULL.
Value decode(std::string_view text, Oid type);

}  // namespace drom::sql
