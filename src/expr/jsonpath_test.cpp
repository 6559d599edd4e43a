#include "expr/jsonpath.hpp"

#include <gtest/gtest.h>

#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

namespace drom::expr {
namespace {

constexpr std::string_view kStore = R"({
  "store": {
    "book": [
      {"category": "reference", "title": "Sayings", "price": 8.95},
      {"category": "fiction", "title": "Sword", "price": 12.99},
      {"category": "fiction", "title": "Moby Dick", "isbn": "0-553", "price": 8.99},
      {"category": "fiction", "title": "Rings", "isbn": "0-395", "price": 22.99}
    ],
    "bicycle": {"color": "red", "price": 19.95}
  },
  "expensive": 10, "tags": ["a", "b"], "a b": 1, "none": null
})";

// The result as JSON, or the error with its place.
std::string select(std::string_view path, std::string_view document = kStore) {
  JsonPathError problem;
  const std::optional<JsonPath> parsed = JsonPath::parse(path, problem);
  if (!parsed) return std::to_string(problem.offset) + ": " + problem.what;
  const Result<Value> found = parsed->evaluate(*parse_json(document));
  return found ? to_json(*found) : "failed: " + found.error().what;
}

struct Case {
  std::string_view path, expected;
};

void expect(std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(select(c.path), c.expected) << c.path;
}

TEST(JsonPath, DefinitePathsGiveTheirValueOrNull) {
  expect({{"$.expensive", "10"},
          {"expensive", "10"},
          {"$.store.book[0].title", R"("Sayings")"},
          {"$['store']['book'][-1]['title']", R"("Rings")"},
          {"$[\"a b\"]", "1"},
          {"$.store.book[9]", "null"},
          {"$.store.absent.deeper", "null"},
          {"$.none", "null"},
          {"$.tags", R"(["a","b"])"}});
}

TEST(JsonPath, OtherPathsGiveLists) {
  expect({{"$.store.book[*].price", "[8.95,12.99,8.99,22.99]"},
          {"$..price", "[8.95,12.99,8.99,22.99,19.95]"},
          {"$.store.bicycle.*", R"(["red",19.95])"},
          {"$.store.book[1:3].title", R"(["Sword","Moby Dick"])"},
          {"$.store.book[-2:].price", "[8.99,22.99]"},
          {"$.store.book[::2].price", "[8.95,8.99]"},
          {"$.store.book[::-1].price", "[22.99,8.99,12.99,8.95]"},
          {"$.store.book[0,3].price", "[8.95,22.99]"},
          {"$.store.bicycle['color','price']", R"(["red",19.95])"},
          {"$.absent[*]", "[]"},
          {"$..book[0].title", R"(["Sayings"])"}});
}

TEST(JsonPath, Filters) {
  expect({{"$.store.book[?(@.price < 10)].title", R"(["Sayings","Moby Dick"])"},
          {"$.store.book[?@.price < 10 && @.category == 'fiction'].title", R"(["Moby Dick"])"},
          {"$.store.book[?(@.isbn)].price", "[8.99,22.99]"},
          {"$.store.book[?(!@.isbn)].price", "[8.95,12.99]"},
          {"$.store.book[?(@.price > $.expensive || @.title == \"Sayings\")].price",
           "[8.95,12.99,22.99]"},
          {"$.store.book[?((@.price < 9 || @.price > 20) && @.isbn)].price", "[8.99,22.99]"},
          {"$.store.book[?(@.title =~ /m.*k/i)].price", "[8.99]"},
          {"$.store.book[?(@.category in ['reference','x'])].price", "[8.95]"},
          {"$.store.book[?(@.category nin ['reference','x'])].price", "[12.99,8.99,22.99]"},
          {"$.store.book[?(@.title contains 'Dick')].price", "[8.99]"},
          {"$.store.book[?(@.title size 5)].price", "[12.99,22.99]"},
          {"$.store.book[?length(@.title) > 6].price", "[8.95,8.99]"},
          {"$.store.book[?match(@.isbn, '0-5.*')].price", "[8.99]"},
          {"$.store.book[?search(@.title, 'ing')].price", "[8.95,22.99]"},
          {"$[?count(@.*) == 2].book[0].price", "[8.95]"},
          {"$.store.book[?(@.price == '8.95')]", "[]"},
          {"$.store.book[?(@.isbn == null)]", "[]"},
          {"$.tags[?(@ == 'a')]", R"(["a"])"}});
}

TEST(JsonPath, FunctionsAtTheEnd) {
  expect({{"$.store.book.length()", "4"},
          {"$.store.book[?(@.isbn)].length()", "2"},
          {"$.store.bicycle.keys()", R"(["color","price"])"},
          {"$..price.min()", "8.95"},
          {"$..price.max()", "22.99"},
          {"$.expensive.length()", "null"}});
}

TEST(JsonPath, NumbersKeepTheirDigits) {
  const std::string_view document =
      R"([{"id":9007199254740993},{"id":12345678901234567890},{"id":1.10}])";
  EXPECT_EQ(select("$[*].id", document), "[9007199254740993,12345678901234567890,1.10]");
  EXPECT_EQ(select("$[?(@.id == 9007199254740992)]", document), "[]");
  EXPECT_EQ(select("$[?(@.id > 12345678901234567889)].id", document), "[12345678901234567890]");
  EXPECT_EQ(select("$[?(@.id == 1.1)].id", document), "[1.10]");
}

TEST(JsonPath, WrongPathsSayWhere) {
  expect({{"$.a[", "4: a number, a quoted name, * or ?(...) is missing here"},
          {"$.", "2: a name is missing here"},
          {"$.a b", "4: 'b' is not expected here"},
          {"[0]", "0: a path begins with $"},
          {"$.a['x", "6: ''' is missing here"},
          {"$.a[?(@.x ==)]", "12: a value is missing here"},
          {"$.a[?(1)]", "7: an operator is missing here"},
          {"$.a[?(@.x =~ 'x')]", "16: the right side of =~ is a pattern"},
          {"$.a.len()", "4: there is no function len()"},
          {"$.a.length().b", "12: nothing may follow a function"},
          {"$.a[?(@.x =~ /(/)]", "13: '(' is no regular expression"}});
}

TEST(JsonPath, DepthAndWorkAreBounded) {
  std::string deep = "$[?(";
  for (int i = 0; i < 1000; ++i) deep += "(";
  EXPECT_NE(select(deep).find("too deeply"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "$[?@[?";
  EXPECT_NE(select(nested).find(": "), std::string::npos);
  List row(200, Value(1));
  const Value square(List(200, Value(row)));
  JsonPathError problem;
  const auto path = JsonPath::parse("$..*..*..*", problem);
  ASSERT_TRUE(path);
  const Result<Value> found = path->evaluate(square);
  EXPECT_TRUE(found.ok());
  const auto filter = JsonPath::parse("$[?($..*)][?($..*)]", problem);
  ASSERT_TRUE(filter);
  EXPECT_FALSE(filter->evaluate(square).ok());
}

// C51: ids beyond 2^53 and decimals pass through an expression unchanged.
TEST(JsonPath, BigIntegersPassThroughExpressions) {
  const testing::FixedEnv env;
  const EvalScope scope{env, "r", "s"};
  Exchange exchange;
  exchange.message.body =
      R"({"id":9007199254740993,"x":228930314431312345,"d":1.10,"huge":92233720368547758079})";
  const auto value = [&](std::string_view text) {
    return *drom::testing::evaluate("simple", text, exchange, scope).value;
  };
  EXPECT_EQ(value("${jsonpath($.id)}").as_int() ? *value("${jsonpath($.id)}").as_int() : 0,
            9007199254740993);
  EXPECT_EQ(to_json(value("${jsonpath($.x)}")), "228930314431312345");
  EXPECT_EQ(to_json(value("${jsonpath($.d)}")), "1.10");
  EXPECT_EQ(to_json(value("${jsonpath($.huge)}")), "92233720368547758079");
  EXPECT_EQ(value("${jsonpath($.id) == 9007199254740993}"), Value(true));
  EXPECT_EQ(value("${jsonpath($.id) == 9007199254740992}"), Value(false));
  exchange.message.headers.set("doc", *parse_json(R"({"a":[{"b":5}]})"));
  EXPECT_EQ(value("${jsonpath(header:doc, $.a[0].b)}"), Value(5));
  EXPECT_EQ(value("${jq(.id)}"), Value(int64_t{9007199254740993}));
  EXPECT_EQ(value("${jq(header:doc, .a[0].b)}"), Value(5));
  EXPECT_EQ(value("n=${jsonpath($.a[?(@.b == 5)].b)}"), Value("n=[]"));
}

TEST(JsonPath, TheLanguageReadsTreesTextAndNothing) {
  const drom::testing::FixedEnv env;
  const EvalScope scope{env, "r", "s"};
  Exchange exchange;
  exchange.message.body = R"({"a":1})";
  EXPECT_EQ(*drom::testing::evaluate("jsonpath", "$.a", exchange, scope).value, Value(1));
  exchange.message.body = Value();
  EXPECT_TRUE(drom::testing::evaluate("jsonpath", "$.a", exchange, scope).value->is_null());
  exchange.message.body = "{broken";
  EXPECT_EQ(drom::testing::evaluate("jsonpath", "$.a", exchange, scope).error->kind,
            ErrorKind::data);
  exchange.message.body = R"({"items":[]})";
  const auto use = ExpressionUse::predicate;
  EXPECT_EQ(*drom::testing::evaluate("jsonpath", "$.items[?(@.x)]", exchange, scope, use).value,
            Value(false));
}

}  // namespace
}  // namespace drom::expr
