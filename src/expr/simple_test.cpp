// Templates, references to the exchange, paths and conversions of `simple`.
#include <gtest/gtest.h>

#include "drom/base/json.hpp"
#include "support/eval_env.hpp"

namespace drom {
namespace {

class Simple : public ::testing::Test {
 protected:
  Simple() {
    env.properties = {{"greeting", "Hi"}, {"a.b", "dotted"}};
    env.variables = {{"HOME_DIR", "/srv"}};
    exchange.serial = 7;
    exchange.message.headers.set("Name", "Camel");
    exchange.message.headers.set("n", 42);
    exchange.message.headers.set("Content-Type", "text/plain");
    exchange.message.headers.set("kafka.topic", "orders");
    exchange.message.headers.set("with space", "s");
    exchange.properties.set("medal", "gold");
    exchange.variables.set("traceId", "t-1");
  }
  void body(std::string_view json) { exchange.message.body = *parse_json(json); }
  Value value(std::string_view text) {
    testing::Evaluated out = testing::evaluate("simple", text, exchange, scope);
    if (out.value) return *out.value;
    return Value("failed: " + (out.error ? out.error->what : out.syntax->what));
  }
  std::string error(std::string_view text) {
    testing::Evaluated out = testing::evaluate("simple", text, exchange, scope);
    if (!out.error) return "no error of the message";
    EXPECT_EQ(out.error->kind, ErrorKind::data);
    return out.error->what;
  }

  testing::FixedEnv env;
  EvalScope scope{env, "route1", "step1"};
  Exchange exchange;
};

TEST_F(Simple, TemplatesGiveText) {
  body(R"({"name":"Ann","n":2})");
  EXPECT_EQ(value("Hello ${body.name}!"), Value("Hello Ann!"));
  EXPECT_EQ(value("${body.n}${body.n}"), Value("22"));
  EXPECT_EQ(value("[${header.absent}]"), Value("[]"));
  EXPECT_EQ(value("a\\tb\\n{c\\}"), Value("a\tb\n{c}"));
  EXPECT_EQ(value(""), Value(""));
}

TEST_F(Simple, ALoneFunctionKeepsTheKindOfItsValue) {
  body(R"({"i":1,"d":1.10,"b":true,"l":[1,2],"o":{"x":1},"z":null})");
  EXPECT_EQ(value("${body.i}").kind(), Value::Kind::integer);
  EXPECT_EQ(value("${body.d}").kind(), Value::Kind::decimal);
  EXPECT_EQ(value("${body.d}").to_text(), "1.10");
  EXPECT_EQ(value("${body.b}"), Value(true));
  EXPECT_TRUE(value("${body.l}").is_list());
  EXPECT_TRUE(value("${body.o}").is_object());
  EXPECT_TRUE(value("${body.z}").is_null());
  EXPECT_TRUE(value("${header.absent}").is_null());
}

TEST_F(Simple, HeadersAreFoundInEveryForm) {
  for (const char* text :
       {"${header.name}", "${headers.NAME}", "${header[name]}", "${headers['Name']}",
        "${header:name}", "${in.header.name}", "${in.headers[name]}", "$simple{header.name}"})
    EXPECT_EQ(value(text), Value("Camel")) << text;
  EXPECT_EQ(value("${header.Content-Type}"), Value("text/plain"));
  EXPECT_EQ(value("${headers['with space']}"), Value("s"));
  EXPECT_EQ(value("${headers.size}"), Value(5));
  EXPECT_EQ(value("${headers}").as_object()->size(), 5u);
}

TEST_F(Simple, DotsInNamesPreferTheLongestNameThatExists) {
  EXPECT_EQ(value("${header.kafka.topic}"), Value("orders"));
  EXPECT_EQ(value("${header.kafka.topic.length()}"), Value(6));
  exchange.message.headers.set("order", *parse_json(R"({"id":5})"));
  EXPECT_EQ(value("${header.order.id}"), Value(5));
  EXPECT_EQ(value("${header[order].id}"), Value(5));
}

TEST_F(Simple, PropertiesAndVariablesKeepTheCaseOfTheirNames) {
  EXPECT_EQ(value("${exchangeProperty.medal}"), Value("gold"));
  EXPECT_EQ(value("${exchangeProperty[medal]}"), Value("gold"));
  EXPECT_TRUE(value("${exchangeProperty.Medal}").is_null());
  EXPECT_EQ(value("${variable.traceId}"), Value("t-1"));
  EXPECT_EQ(value("${variables.size}"), Value(1));
}

TEST_F(Simple, PathsReachIntoTheBody) {
  body(R"({"a":{"b":[{"x":1},{"x":2},{"x":3}]},"k v":9,"0":"zero"})");
  EXPECT_EQ(value("${body.a.b[0].x}"), Value(1));
  EXPECT_EQ(value("${body[a][b][last][x]}"), Value(3));
  EXPECT_EQ(value("${body.a.b[last-1].x}"), Value(2));
  EXPECT_EQ(value("${body['k v']}"), Value(9));
  EXPECT_EQ(value("${body[0]}"), Value("zero"));
  EXPECT_EQ(value("${body.a?.b?[1]?.x}"), Value(2));
  EXPECT_EQ(value("${body.a.b.size}"), Value(3));
  EXPECT_EQ(value("${body.a.b.size()}"), Value(3));
  exchange.message.headers.set("i", 1);
  EXPECT_EQ(value("${body.a.b[${header.i}].x}"), Value(2));
}

TEST_F(Simple, AbsentPartsAreNullAllTheWay) {
  body(R"({"a":{}})");
  EXPECT_TRUE(value("${body.a.b.c}").is_null());
  EXPECT_TRUE(value("${body.a[3]}").is_null());
  EXPECT_TRUE(value("${body.a.b.toUpperCase()}").is_null());
  exchange.message.body = Value();
  EXPECT_TRUE(value("${body.a}").is_null());
}

TEST_F(Simple, AJsonTextIsParsedWhenAFieldIsAskedFor) {
  exchange.message.body = R"( {"a":{"b":[10,20]},"length":99} )";
  EXPECT_EQ(value("${body.a.b[1]}"), Value(20));
  EXPECT_EQ(value("${body.a.b[1]}-${body.a.b[0]}"), Value("20-10"));
  EXPECT_EQ(value("${body.length}"), Value(99));
  EXPECT_TRUE(value("${body.absent}").is_null());
  exchange.message.body = Bytes(std::string(R"([{"x":1}])"));
  EXPECT_EQ(value("${body[0].x}"), Value(1));
  exchange.message.headers.set("json", R"({"x":{"y":2}})");
  EXPECT_EQ(value("${header.json.x.y}"), Value(2));
}

TEST_F(Simple, TextThatIsNoJsonHasNoFields) {
  exchange.message.body = "plain";
  EXPECT_EQ(error("${body.name}"), "the text is no JSON, so it has no field 'name'");
  EXPECT_EQ(value("${body.length}"), Value(5));
  exchange.message.body = "{\"a\":";
  EXPECT_NE(error("${body.a}"), "no error of the message");
}

TEST_F(Simple, MethodsOfTextAndCollections) {
  exchange.message.body = "Grüße";
  EXPECT_EQ(value("${body.toUpperCase()}"), Value("GRÜßE"));
  EXPECT_EQ(value("${body.length()}"), Value(5));
  EXPECT_EQ(value("${body.substring(2,4)}"), Value("üß"));
  EXPECT_EQ(value("${body.indexOf('ß')}"), Value(3));
  EXPECT_EQ(value("${body.replaceAll('[^a-zA-Z]', '_')}").to_text().substr(0, 2), "Gr");
  EXPECT_EQ(value("${body.matches('Gr.*')}"), Value(true));
  EXPECT_NE(error("${body.substring(9)}"), "no error of the message");
  exchange.message.body = "a,b,,";
  EXPECT_EQ(value("${body.split(',').size()}"), Value(2));
  body(R"([3,1,2])");
  EXPECT_EQ(value("${body.contains(2)}"), Value(true));
  EXPECT_EQ(value("${body.get(1)}"), Value(1));
  body(R"({"k":1})");
  EXPECT_EQ(value("${body.containsKey('k')}"), Value(true));
  EXPECT_EQ(value("${body.getOrDefault('q', 5)}"), Value(5));
}

TEST_F(Simple, ConversionsFailRatherThanGuess) {
  exchange.message.body = "12";
  EXPECT_EQ(value("${bodyAs(Integer)}"), Value(12));
  EXPECT_EQ(value("${bodyAs(java.lang.Long)}"), Value(12));
  EXPECT_EQ(value("${int:body}"), Value(12));
  EXPECT_EQ(value("${bodyAs(byte[])}").kind(), Value::Kind::bytes);
  exchange.message.body = "1.5x";
  EXPECT_EQ(error("${bodyAs(int)}"), "bodyAs: a text cannot be converted to an integer");
  exchange.message.body = Value();
  EXPECT_TRUE(value("${bodyAs(String)}").is_null());
  EXPECT_EQ(error("${mandatoryBodyAs(String)}"), "mandatoryBodyAs: the value is null");
  exchange.message.body = R"({"a":1})";
  EXPECT_EQ(value("${bodyAs(Map).a}"), Value(1));
}

TEST_F(Simple, TheErrorOfTheExchangeIsReadable) {
  EXPECT_TRUE(value("${exception.message}").is_null());
  Error failure(ErrorKind::timeout, "no answer");
  failure.type = "java.net.SocketTimeoutException";
  exchange.fail(failure);
  EXPECT_EQ(value("${exception.message}"), Value("no answer"));
  EXPECT_EQ(value("${exception.type}"), Value("java.net.SocketTimeoutException"));
  EXPECT_EQ(value("${exception.kind}"), Value("timeout"));
  exchange.catch_error();
  EXPECT_EQ(value("failed: ${exception.message}"), Value("failed: no answer"));
}

TEST_F(Simple, IdsComeFromTheScope) {
  EXPECT_EQ(value("${exchangeId}"), Value("node1-7"));
  EXPECT_EQ(value("${routeId}/${stepId}"), Value("route1/step1"));
  const EvalScope outside{env, "r", ""};
  EXPECT_TRUE(testing::evaluate("simple", "${stepId}", exchange, outside).value->is_null());
}

TEST_F(Simple, ConfigurationAndEnvironmentComeFromTheEnv) {
  EXPECT_EQ(value("${properties:greeting}"), Value("Hi"));
  EXPECT_EQ(value("${properties:absent:a:b}"), Value("a:b"));
  EXPECT_EQ(error("${properties:absent}"), "the property 'absent' is not defined");
  EXPECT_EQ(value("${propertiesExist:greeting}"), Value(true));
  EXPECT_EQ(value("${propertiesExist:!greeting}"), Value(false));
  EXPECT_EQ(value("${env:HOME_DIR}"), Value("/srv"));
  EXPECT_EQ(value("${sysenv.home-dir}"), Value("/srv"));
  EXPECT_TRUE(value("${env.ABSENT}").is_null());
}

TEST_F(Simple, NestedFunctionsAndQuotes) {
  exchange.message.body = "it's";
  EXPECT_EQ(value("${body.replace(\"'\", '`')}"), Value("it`s"));
  EXPECT_EQ(value("${header.name.replace('Ca', '${body}')}"), Value("it'smel"));
  EXPECT_EQ(value("${body} it's ${header.n}"), Value("it's it's 42"));
  EXPECT_EQ(value("${uppercase('${header.name}-${header.n}')}"), Value("CAMEL-42"));
}

TEST_F(Simple, TernaryElvisAndChain) {
  EXPECT_EQ(value("${header.n > 40 ? 'big' : 'small'}"), Value("big"));
  EXPECT_EQ(value("${header.n > 50 ? 1 : header.n > 41 ? 2 : 3}"), Value(2));
  EXPECT_EQ(value("${header.n} > 50 ? 'big' : 'small'"), Value("small"));
  EXPECT_EQ(value("is ${header.n} > 50 ? yes : no"), Value("is 42 > 50 ? yes : no"));
  EXPECT_EQ(value("${header.absent} ?: 'Guest'"), Value("Guest"));
  EXPECT_EQ(value("${header.name ?: 'Guest'}"), Value("Camel"));
  exchange.message.body = " a-b ";
  EXPECT_EQ(value("${trim()} ~> ${uppercase()} ~> ${split('-')} ~> ${size()}"), Value(2));
  EXPECT_TRUE(value("${header.absent} ?~> ${uppercase()}").is_null());
  EXPECT_EQ(value("${body} ~> not a function"), Value(" a-b  ~> not a function"));
}

TEST_F(Simple, PredicatesInsideBracesGiveTheirTruth) {
  EXPECT_EQ(value("${header.n > 3 && header.name == 'Camel'}"), Value(true));
  EXPECT_EQ(value("Over three: ${header.n > 3}"), Value("Over three: true"));
  EXPECT_EQ(value("${!header.absent}"), Value(true));
}

TEST_F(Simple, CountingUpAndDown) {
  EXPECT_EQ(value("${header.n}++"), Value(43));
  EXPECT_EQ(value("${header.n}--"), Value(41));
  EXPECT_EQ(value("++ ${header.n}++b"), Value("++ 42++b"));
  EXPECT_NE(error("${header.name}++"), "no error of the message");
  exchange.message.body = INT64_MAX;
  EXPECT_NE(error("${body}++"), "no error of the message");
}

TEST_F(Simple, OtherLanguages) {
  const auto other = [&](std::string_view language, std::string_view text) {
    return *testing::evaluate(language, text, exchange, scope).value;
  };
  EXPECT_EQ(other("constant", "${body}"), Value("${body}"));
  EXPECT_EQ(other("header", "NAME"), Value("Camel"));
  EXPECT_EQ(other("exchangeProperty", "medal"), Value("gold"));
  EXPECT_EQ(other("variable", "traceId"), Value("t-1"));
  ExpressionError problem;
  EXPECT_EQ(compile_expression("smiple", "x", ExpressionUse::value, problem), nullptr);
  EXPECT_EQ(problem.hint, "did you mean 'simple'?");
  EXPECT_EQ(compile_expression("header", " ", ExpressionUse::value, problem), nullptr);
}

TEST_F(Simple, CallablesThatThrowFailTheirMessageOnly) {
  const ExpressionPtr good =
      make_expression([](const Exchange& e) { return Value(int64_t(e.serial)); });
  EXPECT_EQ(*good->evaluate(exchange, scope), Value(7));
  const ExpressionPtr bad =
      make_expression([](const Exchange&) -> Value { throw std::runtime_error("boom"); });
  EXPECT_EQ(bad->evaluate(exchange, scope).error().what, "the expression failed: boom");
}

TEST_F(Simple, ReadsMetadataByCamelsNames) {
  EXPECT_EQ(value("${header.CamelKafkaTopic}"), Value("orders"));
  EXPECT_EQ(value("${headers[camelkafkatopic]}"), Value("orders"));
  exchange.message.headers.set("rabbitmq.exchange", "shop");
  exchange.message.headers.set("rabbitmq.routingKey", "new");
  EXPECT_EQ(value("${header.CamelSpringRabbitmqExchangeName}-${header.CamelRabbitmqRoutingKey}"),
            Value("shop-new"));
  EXPECT_EQ(value("${header.CamelKafkaOffset}"), Value());
  exchange.message.headers.set("CamelKafkaTopic", "set by the route");
  EXPECT_EQ(value("${header.CamelKafkaTopic}"), Value("set by the route"));
}

bool reads_body(std::string_view language, std::string_view text,
                ExpressionUse use = ExpressionUse::value) {
  ExpressionError error;
  const ExpressionPtr compiled = compile_expression(language, text, use, error);
  EXPECT_TRUE(compiled) << error.what;
  return !compiled || compiled->reads_body();
}

TEST(ReadsBody, IsKnownOfExpressionsOverHeaders) {
  for (const char* text : {"fixed", "", "${header.a}", "a ${header.a}-${exchangeProperty.b}",
                           "${variable.c}", "${header.a.b[0].c}", "${headers[a]}"})
    EXPECT_FALSE(reads_body("simple", text)) << text;
  for (const char* text :
       {"${body}", "x ${body.a} y", "${bodyAs(String)}", "${header.a[${body.key}]}",
        "${header.a} ~> ${body}", "${jsonpath($.a)}"})
    EXPECT_TRUE(reads_body("simple", text)) << text;
  EXPECT_FALSE(reads_body("simple", "${header.a} > 5 && ${header.b} contains 'x'",
                          ExpressionUse::predicate));
  EXPECT_TRUE(reads_body("simple", "${header.a} > 5 || ${body} == 'x'", ExpressionUse::predicate));
  EXPECT_FALSE(reads_body("constant", "${body}"));
  EXPECT_FALSE(reads_body("header", "a"));
  EXPECT_TRUE(reads_body("jsonpath", "$.a"));
}

}  // namespace
}  // namespace drom
