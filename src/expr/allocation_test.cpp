// The common predicates of routes must not allocate: they run for every message. ThreadSanitizer
// brings its own operators, so that nothing can be counted there.
#if !__has_feature(thread_sanitizer)
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

namespace {
size_t& allocations() {
  thread_local size_t count = 0;
  return count;
}
}  // namespace

void* operator new(size_t size) {
  ++allocations();
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace drom {
namespace {

TEST(Allocation, CommonPredicatesDoNotAllocate) {
  const testing::FixedEnv env;
  const EvalScope scope{env, "route", "step"};
  Exchange exchange;
  exchange.message.headers.set("type", "a text that is longer than a small string holds");
  exchange.message.headers.set("n", 42);
  exchange.message.body =
      *parse_json(R"({"order":{"items":[{"sku":"a rather long stock keeping unit"}],"total":12}})");
  for (const std::string_view text :
       {"${header.type} == 'a text that is longer than a small string holds'",
        "${header.n} > 40 && ${header.n} != 7",
        "${body.order.items[0].sku} contains 'stock keeping unit of nobody'",
        "${header.absent} == null", "${header.type} startsWith 'a text that is longer than'",
        "${body.order.total} range 1..100", "${header.type}",
        "!${header.absent} || ${header.n} == 1"}) {
    ExpressionError problem;
    const ExpressionPtr predicate =
        compile_expression("simple", text, ExpressionUse::predicate, problem);
    ASSERT_TRUE(predicate) << problem.what;
    const size_t before = allocations();
    const Result<bool> answer = predicate->matches(exchange, scope);
    EXPECT_EQ(allocations() - before, 0u) << text;
    EXPECT_TRUE(answer.ok());
  }
}

}  // namespace
}  // namespace drom

#endif
