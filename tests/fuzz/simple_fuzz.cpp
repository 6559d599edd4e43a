// Any text is refused with a place inside of it, or compiled; what was compiled gives a value or a
// data error for any message. The first byte chooses the use, the rest is the expression.
#include <cstdint>

#include "drom/base/assert.hpp"
#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

namespace {

drom::Exchange sample(drom::Value body) {
  drom::Exchange out;
  out.message.body = std::move(body);
  out.message.headers.set("foo", "abc");
  out.message.headers.set("n", 42);
  out.message.headers.set("list", *drom::parse_json(R"([1,"two",{"three":3.30}])"));
  out.properties.set("p", "gold");
  out.variables.set("v", drom::Value(true));
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto use = data[0] % 2 == 0 ? drom::ExpressionUse::value : drom::ExpressionUse::predicate;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  drom::ExpressionError problem;
  const drom::ExpressionPtr expression = drom::compile_expression("simple", text, use, problem);
  if (!expression) {
    DROM_ASSERT(!problem.what.empty());
    DROM_ASSERT(problem.offset <= text.size());
    return 0;
  }
  const drom::testing::FixedEnv env;
  const drom::EvalScope scope{env, "route", "step"};
  const drom::Exchange exchanges[] = {sample(drom::Value()),
                                      sample(R"({"a":{"b":[1,2.50]},"n":"7"})"),
                                      sample("plain text, 12"), sample(drom::Value(int64_t{-5}))};
  for (const drom::Exchange& exchange : exchanges) {
    const drom::Result<drom::Value> value = expression->evaluate(exchange, scope);
    const drom::Result<bool> answer = expression->matches(exchange, scope);
    if (!value) DROM_ASSERT(value.error().kind == drom::ErrorKind::data);
    if (!answer) DROM_ASSERT(answer.error().kind == drom::ErrorKind::data);
  }
  return 0;
}
