#include "formats/json_format.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "drom/base/json.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

// JSON has no word for NaN and the infinities.
bool all_finite(const Value& value) {
  if (const double* real = value.as_real()) return std::isfinite(*real);
  if (const List* list = value.as_list())
    return std::all_of(list->begin(), list->end(), all_finite);
  if (const Object* object = value.as_object())
    return std::all_of(object->begin(), object->end(),
                       [](const Object::Entry& entry) { return all_finite(entry.second); });
  return true;
}

class JsonFormat final : public DataFormat {
 public:
  JsonFormat(bool pretty, bool set_content_type)
      : pretty_(pretty), set_content_type_(set_content_type) {}
  Result<Value> marshal(const Value& body) const override {
    if (!all_finite(body))
      return Error(ErrorKind::data, "the body holds NaN or an infinity, which JSON cannot express");
    return Value(pretty_ ? to_json_pretty(body) : to_json(body));
  }
  Result<Value> unmarshal(const Value& body) const override {
    if (!body.is_text() && !body.is_bytes()) return body;  // a tree already
    return parse_json(body.raw());
  }
  std::string_view content_type() const override {
    return set_content_type_ ? "application/json" : "";
  }

 private:
  bool pretty_;
  bool set_content_type_;
};

// What a generic tree can stand for.
constexpr std::array<std::string_view, 9> kTreeTypes = {"JsonNode",      "Map",        "HashMap",
                                                        "LinkedHashMap", "List",       "ArrayList",
                                                        "Object",        "JsonObject", "JsonArray"};

}  // namespace

ConfigSpec json_format_spec() {
  ConfigSpec spec;
  spec.name = "json";
  spec.title = "JSON";
  spec.doc =
      "JSON text to value trees and back. 64-bit integers and decimals keep their digits. There "
      "are no "
      "Java classes here: whatever unmarshalType would be, the result is a tree.";
  spec.options = {
      enum_option("library",
                  {"Jackson", "jackson", "Gson", "gson", "Fastjson", "fastjson", "Johnzon",
                   "johnzon", "Jsonb", "jsonb"},
                  "Accepted for Camel's sake; there is one JSON library.", "Jackson"),
      option("prettyPrint", OptionType::boolean, "Writes with line breaks and indentation.",
             "false"),
      option("contentTypeHeader", OptionType::boolean,
             "Marshal sets the header Content-Type to application/json.", "true"),
      option(
          "unmarshalType", OptionType::text,
          "Accepted when it is a generic type (JsonNode, Map, List); the result is a tree anyway."),
      option("moduleClassNames", OptionType::text,
             "Accepted for Camel's sake; there are no modules."),
  };
  spec.scalar = "library";
  return spec;
}

std::unique_ptr<DataFormat> make_json_format(const Config& config, BuildContext& context) {
  const std::string& type = config.text("unmarshalType");
  const std::string_view simple = std::string_view(type).substr(type.rfind('.') + 1);
  if (!type.empty() &&
      std::find(kTreeTypes.begin(), kTreeTypes.end(), simple) == kTreeTypes.end()) {
    context.diagnostics().error(
        "E0505", config.where("unmarshalType"), "JSON cannot be read into the class '" + type + "'",
        "leave unmarshalType out: the body becomes a tree with the same fields");
    return nullptr;
  }
  return std::make_unique<JsonFormat>(config.flag("prettyPrint"), config.flag("contentTypeHeader"));
}

}  // namespace drom
