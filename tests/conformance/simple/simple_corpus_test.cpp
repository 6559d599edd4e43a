// Camel's own test table for `simple` (expressions, messages and expected results), read from the
// corpus beside the repository. Skipped where that folder is missing; nothing of it is copied here.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

namespace drom {
namespace {

// The rows that do not give what the table says, with the reason. The list is exact: a row that
// begins to pass must be taken out.
struct Exception {
  int row;  // counted from 1
  std::string_view why;
};
constexpr Exception kExceptions[] = {
    {214, "'-123' contains '123': every release of Camel's own test says true"},
    {216, "'-123' ~~ '123': every release of Camel's own test says true"},
};

std::string corpus_path() {
  const char* folder = std::getenv("DROM_CORPUS");
  return (folder ? std::string(folder) : std::string(DROM_SOURCE_DIR) + "/../shared/corpus") +
         "/simple.jsonl";
}

Exchange exchange_of(const Object& row) {
  Exchange out;
  out.message.body = *row.find("body");
  for (const auto& [name, value] : *row.find("headers")->as_object())
    out.message.headers.set(name, value);
  for (const auto& [name, value] : *row.find("properties")->as_object())
    out.properties.set(name, value);
  return out;
}

bool passes(const Object& row, std::string& got) {
  const testing::FixedEnv env;
  const EvalScope scope{env, "route", ""};
  const Exchange exchange = exchange_of(row);
  const bool predicate = *row.find("kind")->as_text() == "predicate";
  const testing::Evaluated out =
      testing::evaluate("simple", *row.find("simple")->as_text(), exchange, scope,
                        predicate ? ExpressionUse::predicate : ExpressionUse::value);
  if (out.syntax) {
    got = "syntax error at " + std::to_string(out.syntax->offset) + ": " + out.syntax->what;
    return false;
  }
  got = out.error ? out.error->what : to_json(*out.value);
  const Value& expected = *row.find("expected");
  return out.value && out.value->kind() == expected.kind() && *out.value == expected;
}

TEST(SimpleCorpus, EveryRowButTheListedOnesGivesWhatCamelExpects) {
  std::ifstream file(corpus_path());
  if (!file) GTEST_SKIP() << "no corpus at " << corpus_path() << "; set DROM_CORPUS to its folder";
  std::vector<int> failed, expected;
  for (const Exception& exception : kExceptions) expected.push_back(exception.row);
  std::string line;
  int row = 0;
  while (std::getline(file, line)) {
    ++row;
    const Result<Value> parsed = parse_json(line);
    ASSERT_TRUE(parsed.ok()) << "row " << row;
    std::string got;
    if (passes(*parsed->as_object(), got)) continue;
    failed.push_back(row);
    if (std::find(expected.begin(), expected.end(), row) == expected.end())
      ADD_FAILURE() << "row " << row << ": " << line << "\n  got " << got;
  }
  EXPECT_GE(row, 296);
  EXPECT_EQ(failed, expected);
}

}  // namespace
}  // namespace drom
