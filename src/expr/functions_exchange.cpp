#include <array>

#include "expr/functions.hpp"

namespace drom::expr {
namespace {

Result<Operand> exchange_id(const Call& c) {
  std::string out(c.frame().scope.env.instance());
  out += '-';
  out += std::to_string(c.frame().exchange.serial);
  return Operand(Value(std::move(out)));
}

Result<Operand> or_null(std::string_view text) {
  return Operand(text.empty() ? Value() : Value(text));
}
Result<Operand> route_id(const Call& c) { return or_null(c.frame().scope.route); }
Result<Operand> step_id(const Call& c) { return or_null(c.frame().scope.step); }

Result<Operand> pattern(const Call& c) {
  return Operand(Value(c.frame().exchange.pattern == ExchangePattern::in_out ? "InOut" : "InOnly"));
}

// When the message began at its source, in milliseconds since 1970; 0 when nobody knows.
Result<Operand> message_timestamp(const Call& c) {
  const Value* found = c.frame().exchange.message.headers.find("CamelMessageTimestamp");
  if (!found) return Operand(Value(int64_t{0}));
  if (const WallTime* time = found->as_time())
    return Operand(Value(int64_t{time->time_since_epoch().count() / 1000}));
  return Operand(Value(found->to_int().value_or(0)));
}

Result<Operand> body_type(const Call& c) {
  return Operand(Value(to_string(c.frame().body.kind())));
}

std::string hex(uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) out[i] = kDigits[value & 15];
  return out;
}

// A random UUID (version 4); `short` is 16 digits of chance, `simple` the UUID without dashes.
Result<Operand> uuid(const Call& c) {
  const Result<std::string> kind =
      c.size() > 0 ? c.text(0) : Result<std::string>(std::string("default"));
  if (!kind) return kind.error();
  const EvalEnv& env = c.frame().scope.env;
  if (*kind == "short") return Operand(Value(hex(env.random())));
  const uint64_t high = (env.random() & ~uint64_t{0xF000}) | 0x4000;
  const uint64_t low = (env.random() & ~(uint64_t{3} << 62)) | (uint64_t{1} << 63);
  std::string out = hex(high) + hex(low);
  if (*kind == "simple") return Operand(Value(std::move(out)));
  if (*kind != "default" && *kind != "classic" && *kind != "random")
    return data_error("there is no uuid of the kind '" + *kind + "'",
                      "use default, classic, random, short or simple");
  for (const size_t at : {size_t{20}, size_t{16}, size_t{12}, size_t{8}}) out.insert(at, 1, '-');
  return Operand(Value(std::move(out)));
}

Result<Operand> null(const Call&) { return Operand(Value()); }

Result<Operand> empty(const Call& c) {
  const Result<std::string> kind = c.text(0);
  if (!kind) return kind.error();
  if (iequals(*kind, "string")) return Operand(Value(""));
  if (iequals(*kind, "list") || iequals(*kind, "set")) return Operand(Value(List()));
  if (iequals(*kind, "map")) return Operand(Value(Object()));
  return data_error("there is no empty '" + *kind + "'", "use string, list or map");
}

Result<Operand> val(const Call& c) { return c.value(0); }

Result<Operand> iif(const Call& c) {
  const Result<bool> answer = c.node(0).test(c.frame());
  if (!answer) return answer.error();
  return c.value(*answer ? 1 : 2);
}

Result<Operand> negation(const Call& c) {
  if (c.size() == 0) return Operand(Value(!is_truthy(c.frame().body)));
  const Result<bool> answer = c.node(0).test(c.frame());
  if (!answer) return answer.error();
  return Operand(Value(!*answer));
}

constexpr Function kFunctions[] = {
    {"exchangeId", 0, 0, true, exchange_id},
    {"id", 0, 0, true, exchange_id},
    {"routeId", 0, 0, true, route_id},
    {"stepId", 0, 0, true, step_id},
    {"exchangePattern", 0, 0, true, pattern},
    {"messageTimestamp", 0, 0, true, message_timestamp},
    {"bodyType", 0, 0, true, body_type},
    {"uuid", 0, 1, true, uuid},
    {"null", 0, 0, true, null},
    {"empty", 1, 1, false, empty},
    {"createEmpty", 1, 1, false, empty},
    {"val", 1, 1, false, val},
    {"iif", 3, 3, false, iif},
    {"not", 0, 1, false, negation},
};

}  // namespace

std::span<const Function> exchange_functions() { return kFunctions; }

}  // namespace drom::expr
