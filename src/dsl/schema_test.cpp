#include "dsl/schema.hpp"

#include <gtest/gtest.h>

#include "drom/app.hpp"
#include "drom/base/json.hpp"

namespace drom {
namespace {

class RouteFileSchema : public ::testing::Test {
 protected:
  RouteFileSchema() {
    register_builtin(registry);
    text = route_file_schema(registry);
    const Result<Value> parsed = parse_json(text);
    EXPECT_TRUE(parsed.ok());
    if (parsed) root = *parsed;
  }
  // The value at a path of names; null: there is none.
  const Value* find(std::initializer_list<std::string_view> path) const {
    const Value* at = &root;
    for (const std::string_view name : path) {
      const Object* const object = at->as_object();
      at = object ? object->find(name) : nullptr;
      if (!at) return nullptr;
    }
    return at;
  }
  std::string json(std::initializer_list<std::string_view> path) const {
    const Value* const found = find(path);
    return found ? to_json(*found) : "none";
  }
  void collect_references(const Value& value, std::vector<std::string>& out) const {
    if (const Object* object = value.as_object())
      for (const auto& [name, member] : *object) {
        if (name == "$ref") out.push_back(member.to_text());
        collect_references(member, out);
      }
    if (const List* list = value.as_list())
      for (const Value& item : *list) collect_references(item, out);
  }

  Registry registry;
  std::string text;
  Value root;
};

TEST_F(RouteFileSchema, HasAllStepsEndpointsAndItems) {
  EXPECT_EQ(json({"$schema"}), "\"https://json-schema.org/draft/2020-12/schema\"");
  for (const std::string& name : registry.step_names()) {
    EXPECT_TRUE(find({"$defs", "step." + name})) << name;
    EXPECT_TRUE(find({"$defs", "step", "properties", name})) << name;
  }
  for (const std::string& name : registry.component_names())
    EXPECT_TRUE(find({"$defs", "endpoint." + name})) << name;
  for (const char* name :
       {"route", "from", "onException", "errorHandler", "routeConfiguration", "beans"})
    EXPECT_TRUE(find({"$defs", "item", "properties", name})) << name;
}

TEST_F(RouteFileSchema, RefersOnlyToWhatItDefines) {
  std::vector<std::string> references;
  collect_references(root, references);
  ASSERT_GT(references.size(), 50U);
  const std::string prefix = "#/$defs/";
  for (const std::string& reference : references) {
    ASSERT_TRUE(reference.starts_with(prefix)) << reference;
    EXPECT_TRUE(find({"$defs", reference.substr(prefix.size())})) << reference;
  }
}

TEST_F(RouteFileSchema, DescribesOptions) {
  EXPECT_EQ(json({"$defs", "endpoint.timer", "properties", "period", "default"}), "\"1000\"");
  EXPECT_EQ(json({"$defs", "endpoint.timer", "additionalProperties"}), "false");
  // Nested options are nested objects.
  EXPECT_NE(text.find("\"redeliveryPolicy\""), std::string::npos);
  EXPECT_EQ(text.find("redeliveryPolicy."), std::string::npos);
}

TEST_F(RouteFileSchema, TellsTheParametersByTheScheme) {
  bool found = false;
  for (const Value& rule : *find({"$defs", "endpoint", "allOf"})->as_list())
    found = found ||
            to_json(rule) ==
                "{\"if\":{\"properties\":{\"uri\":{\"pattern\":\"^timer(:|$)\"}},\"required\":["
                "\"uri\"]},"
                "\"then\":{\"properties\":{\"parameters\":{\"$ref\":\"#/$defs/endpoint.timer\"}}}}";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace drom
