#include "connectors/sql/sql_text.hpp"

#include <gtest/gtest.h>

#include "support/harness.hpp"

namespace drom::sqlc {
namespace {

SqlText parse(std::string_view text, SqlTextOptions options = {}) {
  Result<SqlText> parsed = parse_sql(text, options);
  EXPECT_TRUE(parsed.ok()) << text << ": " << (parsed.ok() ? "" : parsed.error().message());
  return parsed.ok() ? std::move(*parsed) : SqlText();
}

std::string fixed(std::string_view text) {
  const SqlText parsed = parse(text);
  return parsed.parameters.empty() ? parsed.pieces.front() : parsed.fixed;
}

Result<sql::Command> bound_of(std::string_view text, const Value& body, Exchange exchange = {}) {
  testing::Harness harness;
  const EvalScope scope{harness, "route", "step"};
  const SqlText parsed = parse(text);
  const SqlInput input{body, exchange, scope, ','};
  return bind_sql(parsed, input);
}

TEST(SqlText, TurnsNamesIntoNumberedParameters) {
  const SqlText text = parse("select * from t where a = :#id and b=:?name_2 or c = :#id");
  EXPECT_EQ(text.fixed, "select * from t where a = $1 and b=$2 or c = $3");
  ASSERT_EQ(text.parameters.size(), 3u);
  EXPECT_EQ(text.parameters[1].name, "name_2");
}

TEST(SqlText, TurnsPlaceholdersIntoNumberedParameters) {
  EXPECT_EQ(fixed("insert into t values (#, #,#)"), "insert into t values ($1, $2,$3)");
}

TEST(SqlText, LeavesQuotedTextsNamesAndCommentsAlone) {
  for (const char* text :
       {"select ':#a # it''s' from t", "select \":#a#\" from t", "select 1 -- :#a #\n from t",
        "select /* :#a /* # */ :#b */ 1", "select $$ :#a # $$", "select $q$ :#a $$ # $q$",
        "select E'\\' :#a #' from t", "select a::text, '[]'::jsonb from t", "select `:#a`",
        "select doc #> '{a}', doc #>> '{b}', doc #- '{c}'"})
    EXPECT_EQ(fixed(text), text);
}

TEST(SqlText, KnowsTheBackslashesOfMysql) {
  SqlTextOptions options;
  options.backslash_escapes = true;
  for (const char* text : {"select 'it\\'s :#a' from t", "select \"a \\\" :#a\" from t"})
    EXPECT_EQ(parse(text, options).fixed, text);
  EXPECT_EQ(parse("select '\\\\', :#a", options).fixed, "select '\\\\', $1");
}

TEST(SqlText, ACastMayFollowAParameter) {
  EXPECT_EQ(fixed("select :#a::jsonb, :#in::text"), "select $1::jsonb, $2::text");
}

TEST(SqlText, NamedParametersCanBeSwitchedOff) {
  SqlTextOptions options;
  options.named = false;
  EXPECT_EQ(parse("select :#a, #", options).fixed, "select :#a, $1");
}

TEST(SqlText, RefusesNumberedParametersAndUnclosedExpressions) {
  Result<SqlText> numbered = parse_sql("select $1", {});
  ASSERT_FALSE(numbered.ok());
  EXPECT_EQ(numbered.error().kind, ErrorKind::config);
  EXPECT_NE(numbered.error().what.find("character 8"), std::string::npos) << numbered.error().what;
  EXPECT_FALSE(parse_sql("select :#${body", {}).ok());
  EXPECT_FALSE(parse_sql("select :#${nothing like this}", {}).ok());
}

TEST(SqlText, TakesNamesFromBodyThenHeadersThenVariables) {
  Exchange exchange;
  exchange.message.headers.set("id", 2);
  exchange.message.headers.set("name", "header");
  exchange.variables.set("name", "variable");
  exchange.variables.set("extra", "variable");
  Object body;
  body.set("id", 1);
  Result<sql::Command> bound = bound_of("x :#id :#name :#extra", body, std::move(exchange));
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->params, (List{1, "header", "variable"}));
}

TEST(SqlText, AMissingNameIsAnErrorAndANullIsAValue) {
  Object body;
  body.set("a", Value());
  EXPECT_EQ(bound_of("x :#a", body)->params, List{Value()});
  Result<sql::Command> missing = bound_of("x :#b", body);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::data);
  EXPECT_NE(missing.error().what.find("'b'"), std::string::npos);
}

TEST(SqlText, BindsExpressionsWithTheirType) {
  Exchange exchange;
  exchange.message.headers.set("n", 7);
  Result<sql::Command> bound = bound_of("x = :#${header.n}", Value(), std::move(exchange));
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->sql, "x = $1");
  EXPECT_EQ(bound->params, List{7});
}

TEST(SqlText, ValuesByPositionComeFromTheListOrTheBody) {
  EXPECT_EQ(bound_of("(#, #)", List{1, "b"})->params, (List{1, "b"}));
  EXPECT_EQ(bound_of("(#)", "one")->params, List{"one"});
  EXPECT_FALSE(bound_of("(#, #)", List{1}).ok());
  EXPECT_FALSE(bound_of("(#)", Object()).ok());
}

TEST(SqlText, InExpandsListsAndSeparatedTexts) {
  Object body;
  body.set("ids", List{1, 2, 3});
  body.set("x", 9);
  Result<sql::Command> bound = bound_of("a = :#x and id in (:#in:ids) and b = :#x", body);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->sql, "a = $1 and id in ($2, $3, $4) and b = $5");
  EXPECT_EQ(bound->params, (List{9, 1, 2, 3, 9}));
  body.set("ids", "Camel,AMQ");
  EXPECT_EQ(bound_of("id in (:#in:ids)", body)->params, (List{"Camel", "AMQ"}));
  body.set("ids", List());
  EXPECT_EQ(bound_of("id in (:#in:ids)", body)->sql, "id in ($1)");
  Exchange exchange;
  exchange.message.body = List{5, 6};
  EXPECT_EQ(bound_of("id in (:#in:${body})", Value(), std::move(exchange))->sql, "id in ($1, $2)");
}

TEST(SqlText, AHostileValueIsOnlyEverBound) {
  Object body;
  body.set("name", "x'; drop table t; --");
  Result<sql::Command> bound = bound_of("select :#name", body);
  EXPECT_EQ(bound->sql, "select $1");
  EXPECT_EQ(bound->params, List{"x'; drop table t; --"});
}

TEST(SqlText, DocumentsAreBoundAsJsonText) {
  Object inner;
  inner.set("a", 1);
  Object body;
  body.set("doc", inner);
  EXPECT_EQ(bound_of("(:#doc)", body)->params, List{"{\"a\":1}"});
}

}  // namespace
}  // namespace drom::sqlc
