#include "eip/convert_body.hpp"

#include <cmath>
#include <limits>

#include "drom/base/json.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

struct TypeName {
  std::string_view name;
  BodyType type;
};
// Simple names; packages of Java are cut off before the lookup.
constexpr TypeName kNames[] = {
    {"Object", BodyType::any},
    {"String", BodyType::text},
    {"CharSequence", BodyType::text},
    {"byte[]", BodyType::bytes},
    {"[B", BodyType::bytes},
    {"InputStream", BodyType::bytes},
    {"StreamCache", BodyType::bytes},
    {"ByteBuffer", BodyType::bytes},
    {"int", BodyType::int32},
    {"Integer", BodyType::int32},
    {"long", BodyType::int64},
    {"Long", BodyType::int64},
    {"double", BodyType::real},
    {"Double", BodyType::real},
    {"float", BodyType::real},
    {"Float", BodyType::real},
    {"BigDecimal", BodyType::decimal},
    {"BigInteger", BodyType::decimal},
    {"boolean", BodyType::boolean},
    {"Boolean", BodyType::boolean},
    {"Map", BodyType::object},
    {"HashMap", BodyType::object},
    {"LinkedHashMap", BodyType::object},
    {"JsonObject", BodyType::object},
    {"List", BodyType::list},
    {"ArrayList", BodyType::list},
    {"Collection", BodyType::list},
    {"JsonArray", BodyType::list},
};

std::string_view simple_name(std::string_view name) {
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

Error misfit(const Value& value, std::string_view wanted) {
  return Error(ErrorKind::data, "a body of type " + std::string(to_string(value.kind())) +
                                    " cannot become " + std::string(wanted));
}

Result<Value> to_integer(const Value& value, int64_t low, int64_t high, std::string_view name) {
  const std::optional<int64_t> out = value.to_int();
  if (!out || *out < low || *out > high) return misfit(value, name);
  return Value(*out);
}

Result<Value> to_decimal(const Value& value) {
  if (value.is_int() || value.as_decimal()) return value;
  const std::optional<double> number = value.to_double();
  if (!number || !std::isfinite(*number)) return misfit(value, "a decimal number");
  if (const std::optional<int64_t> whole = value.to_int()) return Value(*whole);
  return Value(Decimal{value.to_text()});
}

// JSON text is read; everything else must have the kind already.
Result<Value> to_tree(const Value& value, Value::Kind kind, std::string_view name) {
  if (value.kind() == kind) return value;
  if (!value.is_text() && !value.is_bytes()) return misfit(value, name);
  Result<Value> parsed = parse_json(value.raw());
  if (!parsed) return parsed;
  if (parsed->kind() != kind) return misfit(*parsed, name);
  return parsed;
}

class ConvertBody final : public Processor {
 public:
  ConvertBody(BodyType type, bool mandatory) : type_(type), mandatory_(mandatory) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      Value& body = exchange.message.body;
      if (body.is_null()) continue;
      Result<Value> converted = convert(body, type_);
      if (converted.ok()) {
        body = std::move(*converted);
      } else if (mandatory_) {
        exchange.fail(std::move(converted.error()));
      } else {
        body = Value();
      }
    }
  }

 private:
  BodyType type_;
  bool mandatory_;
};

ConfigSpec convert_spec() {
  ConfigSpec spec;
  spec.name = "convertBodyTo";
  spec.title = "Convert Body To";
  spec.doc =
      "Converts the body to a type: String, byte[], Integer, Long, Double, Boolean, BigDecimal, "
      "Map or "
      "List, by Java's names with or without package. Map and List are read from JSON text. What "
      "does "
      "not fit fails with kind data.";
  OptionSpec type = required_option("type", OptionType::text, "The type.");
  type.example = "java.lang.String";
  spec.options.push_back(std::move(type));
  spec.options.push_back(option("mandatory", OptionType::boolean,
                                "False makes the body empty instead of failing.", "true"));
  spec.options.push_back(enum_option("charset", {"UTF-8", "utf-8", "utf8"},
                                     "Character set of texts; only UTF-8.", "UTF-8"));
  spec.scalar = "type";
  spec.example = "- convertBodyTo: java.lang.String\n";
  return spec;
}

Step make_convert(const StepSpec&, const Config& config, BuildContext& context) {
  const std::string& name = config.text("type");
  const std::optional<BodyType> type = body_type(name);
  if (!type) {
    std::vector<std::string> known;
    for (const TypeName& entry : kNames) known.emplace_back(entry.name);
    std::string hint = did_you_mean(simple_name(name), known);
    if (hint.empty())
      hint = "use String, byte[], Integer, Long, Double, Boolean, BigDecimal, Map or List";
    context.diagnostics().error("E0505", config.where("type"), "unknown type '" + name + "'",
                                std::move(hint));
    return Step();
  }
  return Step(std::make_unique<ConvertBody>(*type, config.flag("mandatory")));
}

}  // namespace

std::optional<BodyType> body_type(std::string_view name) {
  const std::string_view simple = simple_name(name);
  for (const TypeName& entry : kNames)
    if (entry.name == simple) return entry.type;
  return std::nullopt;
}

Result<Value> convert(const Value& value, BodyType type) {
  switch (type) {
    case BodyType::any: return value;
    case BodyType::text: return value.is_text() ? value : Value(value.to_text());
    case BodyType::bytes: return value.is_bytes() ? value : Value(Bytes(value.to_text()));
    case BodyType::int32:
      return to_integer(value, std::numeric_limits<int32_t>::min(),
                        std::numeric_limits<int32_t>::max(), "a 32-bit integer");
    case BodyType::int64:
      return to_integer(value, std::numeric_limits<int64_t>::min(),
                        std::numeric_limits<int64_t>::max(), "a 64-bit integer");
    case BodyType::real: {
      const std::optional<double> out = value.to_double();
      if (!out) return misfit(value, "a floating point number");
      return Value(*out);
    }
    case BodyType::decimal: return to_decimal(value);
    case BodyType::boolean: {
      const std::optional<bool> out = value.to_bool();
      if (!out) return misfit(value, "a boolean");
      return Value(*out);
    }
    case BodyType::object: return to_tree(value, Value::Kind::object, "a map");
    case BodyType::list: return to_tree(value, Value::Kind::list, "a list");
  }
  return misfit(value, "that type");
}

void register_convert_body(Registry& registry) {
  registry.add(StepInfo{"convertBodyTo", convert_spec, make_convert});
}

}  // namespace drom
