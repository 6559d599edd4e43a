// The functions of `simple`: text, lists, numbers, dates, chance and files.
#include <gtest/gtest.h>

#include "drom/base/json.hpp"
#include "expr/time_zone.hpp"
#include "support/eval_env.hpp"

namespace drom {
namespace {

class Functions : public ::testing::Test {
 protected:
  // The result as JSON, or what went wrong.
  std::string json(std::string_view text) {
    testing::Evaluated out = testing::evaluate("simple", text, exchange, scope);
    if (out.value) return to_json(*out.value);
    return "failed: " + (out.error ? out.error->what : out.syntax->what);
  }
  void body(Value value) { exchange.message.body = std::move(value); }
  void expect(std::initializer_list<std::pair<std::string_view, std::string_view>> cases) {
    for (const auto& [text, expected] : cases) EXPECT_EQ(json(text), expected) << text;
  }

  testing::FixedEnv env;
  EvalScope scope{env, "route1", "step1"};
  Exchange exchange;
};

TEST_F(Functions, OfText) {
  body("  Hello  big   World ");
  expect({{"${trim()}", R"("Hello  big   World")"},
          {"${normalizeWhitespace()}", R"("Hello big World")"},
          {"${uppercase('straße é')}", R"("STRAßE É")"},
          {"${capitalize('hello big world')}", R"("Hello Big World")"},
          {"${replace('Hello','Bye')}", R"("  Bye  big   World ")"},
          {"${replace(&apos;,&quot;,\"it's\")}", R"("it\"s")"},
          {"${substring(2)}", R"("Hello  big   World ")"},
          {"${substring(-1)}", R"("  Hello  big   World")"},
          {"${substring(2,1,'abcdef')}", R"("cde")"},
          {"${substring(9,0,'abc')}", R"("")"},
          {"${substringBefore('a:b',':')}", R"("a")"},
          {"${substringAfter('a:b',':')}", R"("b")"},
          {"${substringAfter('a:b','?')}", "null"},
          {"${substringBetween('<a>','<','>')}", R"("a")"},
          {"${concat('a','b','-')}", R"("a-b")"},
          {"${pad('a',3)}", R"("a  ")"},
          {"${pad('a',-3,'0')}", R"("00a")"},
          {"${contains('WORLD')}", "true"},
          {"${length('añb')}", "4"},
          {"${quote('a')}", R"("\"a\"")"},
          {"${unquote('\"a\"')}", R"("a")"},
          {"${isNumeric('12')}", "true"},
          {"${isAlpha('1a')}", "false"},
          {"${val(5)}", "5"}});
}

TEST_F(Functions, OfLists) {
  body(*parse_json(R"(["b","a","c","a",10,9])"));
  expect({{"${collate(4)}", R"([["b","a","c","a"],[10,9]])"},
          {"${skip(4)}", "[10,9]"},
          {"${join()}", R"("b,a,c,a,10,9")"},
          {"${join('&','id=')}", R"("id=b&id=a&id=c&id=a&id=10&id=9")"},
          {"${distinct()}", R"(["b","a","c",10,9])"},
          {"${reverse(1,2,3)}", "[3,2,1]"},
          {"${sort()}", R"([9,10,"a","a","b","c"])"},
          {"${sort(true)}", R"(["c","b","a","a",10,9])"},
          {"${size()}", "6"},
          {"${list(1,'x',${null})}", R"([1,"x",null])"},
          {"${map('a',1,'b',2)}", R"({"a":1,"b":2})"},
          {"${split('a;b',';')}", R"(["a","b"])"},
          {"${filter('Camel,Dog,Cheese',${length() > 4})}", R"(["Camel","Cheese"])"},
          {"${forEach('a,b','<${body}>')}", R"(["<a>","<b>"])"},
          {"${createEmpty(list)}", "[]"},
          {"${isEmpty()}", "false"},
          {"${kindOfType()}", R"("array")"},
          {"${kindOfType(123)}", R"("number")"},
          {"${collate(0)}", "failed: collate() needs a group size of at least 1"}});
}

TEST_F(Functions, OfNumbers) {
  body(*parse_json("[10,20,30]"));
  expect({{"${sum()}", "60"},
          {"${sum(${body},-2)}", "58"},
          {"${average()}", "20"},
          {"${min(5,3)}", "3"},
          {"${max()}", "30"},
          {"${abs(-5)}", "5"},
          {"${floor(5.7)}", "5"},
          {"${ceil(5.1)}", "6"},
          {"${range(3)}", "[0,1,2]"},
          {"${range(0,9223372036854775807)}", "failed: range() gives at most 100000 numbers"},
          {"${sum(9223372036854775807,1)}", "failed: the sum is too large"},
          {"${sum('x')}", "failed: 'x' is no whole number"}});
}

TEST_F(Functions, ChanceComesFromTheEnv) {
  env.next_random = 3;
  EXPECT_EQ(json("${random(10)}"), "3");
  EXPECT_EQ(json("${random(100,102)}"), "100");
  EXPECT_EQ(json("${random(5,5)}"), "failed: random() needs a range with at least one number");
  for (int i = 0; i < 50; ++i) {
    const int64_t chosen =
        *testing::evaluate("simple", "${random(-3,4)}", exchange, scope).value->as_int();
    EXPECT_GE(chosen, -3);
    EXPECT_LT(chosen, 4);
  }
  env.next_random = 1;
  EXPECT_EQ(json("${uuid}"), R"("00000000-0000-4001-8000-000000000002")");
  EXPECT_EQ(json("${uuid(short)}"), R"("0000000000000003")");
  EXPECT_EQ(json("${uuid(simple)}").size(), 34u);
}

TEST_F(Functions, ConditionsAndKinds) {
  exchange.message.headers.set("n", 5);
  expect({{"${iif(${header.n} > 3,'many','few')}", R"("many")"},
          {"${not(${header.n} == 5)}", "false"},
          {"${null}", "null"},
          {"${messageTimestamp}", "0"},
          {"${exchangePattern}", R"("InOnly")"}});
  body("{\"a\":1}\n");
  expect({{"${prettyBody}", R"("{\n  \"a\": 1\n}")"}, {"${bodyOneLine}", R"("{\"a\":1}")"}});
}

TEST_F(Functions, DatesWithPatternsAndOffsets) {
  exchange.created = WallTime(std::chrono::sys_days(std::chrono::year(1999) / 12 / 31));
  exchange.message.headers.set("due", "2024-03-10T08:00:00Z");
  exchange.message.headers.set("ms", 0);
  expect({{"${date:now:yyyy-MM-dd'T'HH:mm:ss.SSSXXX}", R"("2024-02-29T13:05:09.042Z")"},
          {"${date:now:yyyyMMdd-HHmmss}", R"("20240229-130509")"},
          {"${date:now+1h30m:HH:mm}", R"("14:35")"},
          {"${date:now-24h:yyyyMMdd}", R"("20240228")"},
          {"${date:now+1d-1h+100:ddHHmmssSSS}", R"("01120509142")"},
          {"${date:now:EEE, d MMM yyyy h:mm a}", R"("Thu, 29 Feb 2024 1:05 PM")"},
          {"${date:now:EEEE MMMM yy D w u}", R"("Thursday February 24 60 9 4")"},
          {"${date:now:hh 'o''clock' z Z}", R"("01 o'clock UTC +0000")"},
          {"${date:millis}", "1709211909042"},
          {"${date:exchangeCreated:yyyy Y ww}", R"("1999 2000 01")"},
          {"${date:header.due:yyyy-MM-dd HH}", R"("2024-03-10 08")"},
          {"${date:header.due+24h:yyyyMMdd}", R"("20240311")"},
          {"${date:header.ms:yyyy}", R"("1970")"},
          {"${date:header.none:yyyy}", "failed: there is no date in 'none'"},
          {"${date-with-timezone:now:GMT+8:yyyy-MM-dd HH:mm}", R"("2024-02-29 21:05")"},
          {"${date-with-timezone:header.due:UTC:HH:mm}", R"("08:00")"}});
  EXPECT_EQ(testing::evaluate("simple", "${date:now}", exchange, scope).value->kind(),
            Value::Kind::time);
  exchange.message.headers.set("ms", INT64_MAX);
  EXPECT_EQ(json("${date:header.ms:yyyy}").substr(0, 7), "failed:");
}

// A TZif file of version 2 with one change and a rule, as in the zone database for Paris.
std::string paris() {
  const auto number = [](uint64_t value, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
    return out;
  };
  const std::string start = std::string("TZif2") + std::string(15, '\0');
  std::string out = start + number(0, 4) + number(0, 4) + number(0, 4) + number(0, 4) +
                    number(1, 4) + number(1, 4) + std::string(7, '\0');
  out += start + number(0, 4) + number(0, 4) + number(0, 4) + number(1, 4) + number(2, 4) +
         number(8, 4);
  out += number(1'000'000'000, 8) + number(1, 1);
  out += number(0, 4) + number(0, 1) + number(0, 1) + number(3600, 4) + number(0, 1) + number(4, 1);
  out += std::string("UTC\0CET\0", 8);
  return out + "\nCET-1CEST,M3.5.0,M10.5.0/3\n";
}

TEST_F(Functions, TimeZonesFollowTheirRules) {
  const auto zone = expr::TimeZone::from_tzif(paris());
  ASSERT_TRUE(zone.ok());
  const auto offset = [&](std::string_view time) {
    return (*zone)->at(*parse_iso8601(time)).seconds;
  };
  EXPECT_EQ(offset("1999-07-01T00:00:00Z"), 0);
  EXPECT_EQ(offset("2024-01-15T00:00:00Z"), 3600);
  EXPECT_EQ(offset("2024-03-31T00:59:59Z"), 3600);
  EXPECT_EQ(offset("2024-03-31T01:00:00Z"), 7200);
  EXPECT_EQ(offset("2024-10-27T00:59:59Z"), 7200);
  EXPECT_EQ(offset("2024-10-27T01:00:00Z"), 3600);
  EXPECT_EQ((*zone)->at(*parse_iso8601("2090-07-01")).name, "CEST");
  const std::string whole = paris();
  for (size_t size = 0; size < whole.size() - 30; ++size)
    EXPECT_FALSE(expr::TimeZone::from_tzif(std::string_view(whole).substr(0, size)).ok()) << size;
  EXPECT_FALSE(expr::TimeZone::named("../../etc/passwd").ok());
  EXPECT_FALSE(expr::TimeZone::named("/etc/passwd").ok());
  EXPECT_FALSE(expr::TimeZone::named("Mars/Olympus").ok());
}

TEST_F(Functions, FilePartsComeFromTheHeadersOfTheFileConsumer) {
  exchange.message.headers.set("CamelFileName", "in/data.tar.gz");
  exchange.message.headers.set("CamelFileLength", 12);
  expect({{"${file:name}", R"("in/data.tar.gz")"},
          {"${file:onlyname}", R"("data.tar.gz")"},
          {"${file:onlyname.noext}", R"("data")"},
          {"${file:name.noext.single}", R"("in/data.tar")"},
          {"${file:ext}", R"("tar.gz")"},
          {"${file:name.ext.single}", R"("gz")"},
          {"${file:size}", "12"},
          {"${file:onlynam}", "failed: there is no file:onlynam"}});
}

TEST_F(Functions, BuiltResultsAreBounded) {
  body(std::string(100'000, 'a'));
  EXPECT_EQ(json("${body.replace('a','"
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
                 "bbbbbbbbbbb"
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb')}"),
            "failed: the text would be larger than 16777216 bytes");
  EXPECT_EQ(json("${body.repeat(1000000)}"),
            "failed: the text would be larger than 16777216 bytes");
  EXPECT_EQ(json("${pad('a',999999999)}").substr(0, 7), "failed:");
}

}  // namespace
}  // namespace drom
