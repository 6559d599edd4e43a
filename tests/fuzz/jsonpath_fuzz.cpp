// The first line is a JSONPath, the rest a document. Wrong paths say where; right ones give a value
// or a data error for every document, in bounded time.
#include <cstdint>

#include "drom/base/assert.hpp"
#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), input.size());
  const std::string_view path = input.substr(0, line);
  drom::ExpressionError problem;
  const drom::ExpressionPtr expression =
      drom::compile_expression("jsonpath", path, drom::ExpressionUse::value, problem);
  if (!expression) {
    DROM_ASSERT(!problem.what.empty());
    DROM_ASSERT(problem.offset <= path.size());
    return 0;
  }
  const drom::testing::FixedEnv env;
  const drom::EvalScope scope{env, "route", "step"};
  drom::Exchange exchange;
  for (const std::string_view document :
       {input.substr(std::min(line + 1, input.size())),
        std::string_view(R"({"a":[{"b":1,"c":"x"},{"b":2.50},null,true],"d":{"e":{"f":[]}}})")}) {
    exchange.message.body = document;
    const drom::Result<drom::Value> value = expression->evaluate(exchange, scope);
    if (!value) DROM_ASSERT(value.error().kind == drom::ErrorKind::data);
  }
  return 0;
}
