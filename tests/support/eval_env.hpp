// A fixed world for expressions: time stands at 2024-02-29T13:05:09.042Z, chance counts upwards,
// properties and environment come from maps. Helpers compile and evaluate one text.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "drom/expr/expression.hpp"

namespace drom::testing {

class FixedEnv final : public EvalEnv {
 public:
  WallTime now() const override { return time; }
  uint64_t random() const override { return next_random++; }
  std::optional<std::string> environment(std::string_view name) const override {
    return find(variables, name);
  }
  std::optional<std::string> property(std::string_view key) const override {
    return find(properties, key);
  }
  std::string_view instance() const override { return "node1"; }

  WallTime time{std::chrono::sys_days(std::chrono::year(2024) / 2 / 29) + std::chrono::hours(13) +
                std::chrono::minutes(5) + std::chrono::milliseconds(9042)};
  mutable uint64_t next_random = 0;
  std::map<std::string, std::string, std::less<>> variables, properties;

 private:
  static std::optional<std::string> find(const std::map<std::string, std::string, std::less<>>& map,
                                         std::string_view key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
};

// What an expression gave: a value, an error of the message, or a syntax error.
struct Evaluated {
  std::optional<Value> value;
  std::optional<Error> error;
  std::optional<ExpressionError> syntax;
};

inline Evaluated evaluate(std::string_view language, std::string_view text,
                          const Exchange& exchange, const EvalScope& scope,
                          ExpressionUse use = ExpressionUse::value) {
  Evaluated out;
  ExpressionError problem;
  const ExpressionPtr expression = compile_expression(language, text, use, problem);
  if (!expression) {
    out.syntax = problem;
    return out;
  }
  Result<Value> value = expression->evaluate(exchange, scope);
  if (value) {
    out.value = std::move(*value);
  } else {
    out.error = std::move(value.error());
  }
  return out;
}

}  // namespace drom::testing
