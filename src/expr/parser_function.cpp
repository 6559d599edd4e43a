#include "expr/basic_nodes.hpp"
#include "expr/date_function.hpp"
#include "expr/functions.hpp"
#include "expr/jsonpath_node.hpp"
#include "expr/operators.hpp"
#include "expr/outer_values.hpp"
#include "expr/parser.hpp"
#include "expr/references.hpp"
#include "expr/suggest.hpp"

namespace drom::expr {
namespace {

constexpr size_t kNone = std::string_view::npos;

// Functions of Camel that live on Java or need what Dromedary does not have.
constexpr std::string_view kUnsupported[] = {
    "bean",        "ref",         "type",      "xpath",        "groovy",         "camelContext",
    "camelId",     "exchange",    "messageAs", "hostname",     "threadId",       "threadName",
    "attachments", "hash",        "load",      "originalBody", "messageHistory", "fromRouteId",
    "routeGroup",  "logExchange", "setHeader", "setVariable",  "throwException"};

// Behind these names a colon begins free text, in which an operator is no operator.
bool has_free_text(std::string_view name) {
  for (const std::string_view known :
       {"date", "date-with-timezone", "properties", "propertiesExist", "file"})
    if (name == known) return true;
  return false;
}

bool has_operators(std::string_view text) {
  size_t word = 0;
  static const std::vector<std::string_view> kOthers = {"?", "?:", "~>", "?~>", "&&", "||"};
  return text.starts_with('!') || find_word(text, kOthers, word) != kNone ||
         find_word(text, operator_words(), word) != kNone;
}

}  // namespace

NodePtr Parser::parse_function(Piece content) {
  const Depth depth(depth_);
  if (!enter(content.offset)) return nullptr;
  content = content.trimmed();
  if (content.empty())
    return fail(content.offset, "the function is empty", "write ${body} or another function");
  for (const auto& [prefix, type] :
       {std::pair<std::string_view, TypeName>{"int:", TypeName::integer},
        {"integer:", TypeName::integer},
        {"long:", TypeName::integer},
        {"boolean:", TypeName::boolean},
        {"string:", TypeName::text}}) {
    if (!content.text.starts_with(prefix)) continue;
    NodePtr value = parse_function(content.sub(prefix.size()));
    if (!value) return nullptr;
    return make_conversion(std::move(value), type, false,
                           "${" + std::string(content.text.substr(0, 60)) + "}");
  }
  size_t end = 0;
  while (end < content.text.size() && is_name_char(content.text[end])) ++end;
  const bool free_text = end < content.text.size() && content.text[end] == ':' &&
                         has_free_text(content.text.substr(0, end));
  if (!free_text && has_operators(content.text)) {
    bool is_operators = false;
    NodePtr node = parse_value_operators(content, Place::inside, is_operators);
    return is_operators ? std::move(node) : parse_logic(content, Place::inside);
  }
  return parse_named(content);
}

NodePtr Parser::parse_named(Piece content) {
  if (content.text.starts_with("in.body") || content.text.starts_with("in.header"))
    content = content.sub(3);
  size_t end = 0;
  while (end < content.text.size() && is_name_char(content.text[end])) ++end;
  const std::string_view name = content.text.substr(0, end);
  const Piece rest = content.sub(end);
  if (name.empty())
    return fail(content.offset, "'" + std::string(content.text.substr(0, 20)) + "' is no function");
  if (name == "body" || name == "exception") return parse_reference(name, rest);
  if (name == "header" || name == "headers" || name == "variable" || name == "variables" ||
      name == "exchangeProperty")
    return parse_named_value(name, rest);
  if (name == "bodyAs" || name == "mandatoryBodyAs" || name == "headerAs" || name == "variableAs" ||
      name == "convertTo")
    return parse_conversion(name, rest);
  if (name == "jsonpath" || name == "jq") return parse_jsonpath(name, rest);
  if (name == "date" || name == "date-with-timezone") return parse_date(name, rest);
  if (rest.text.starts_with(':') || name == "env" || name == "sysenv" || name == "sys")
    return parse_prefixed(name, rest);
  return parse_call(name, rest);
}

NodePtr Parser::unknown_function(std::string_view name, size_t offset) {
  const std::string quoted = "'" + std::string(name) + "'";
  for (const std::string_view known : kUnsupported)
    if (known == name) return fail(offset, "Camel's function " + quoted + " is not supported");
  return fail(offset, "there is no function " + quoted, suggest(name, function_names()));
}

NodePtr Parser::parse_reference(std::string_view name, Piece rest) {
  if (name == "body") return with_path(make_body(), rest);
  if (NodePtr node = make_exception(rest.text)) return node;
  return fail(rest.offset, "the exception has no '" + std::string(rest.text) + "'",
              "use exception.message, exception.type, exception.kind or exception.stacktrace");
}

// bodyAs(type), headerAs(name, type), convertTo([value,] type)
NodePtr Parser::parse_conversion(std::string_view name, Piece rest) {
  Piece inner, tail;
  if (!take_parentheses(name, rest, inner, tail)) return nullptr;
  std::vector<Piece> arguments = split_arguments(inner);
  const bool named = name == "headerAs" || name == "variableAs";
  if (arguments.empty() || arguments.size() > 2 || (named && arguments.size() != 2) ||
      (arguments.size() == 2 && !named && name != "convertTo"))
    return fail(inner.offset,
                std::string(name) + "() takes " + (named ? "a name and a type" : "a type"));
  for (Piece& argument : arguments)
    if (is_quoted(argument.text)) argument = argument.sub(1, argument.text.size() - 2);
  const Piece type_name = arguments.back();
  const auto type = type_named(type_name.text);
  if (!type)
    return fail(type_name.offset, "there is no type '" + std::string(type_name.text) + "'",
                suggest(type_name.text, type_names()));
  NodePtr value = make_body();
  if (named) {
    value = make_named(name == "headerAs" ? NamedPlace::header : NamedPlace::variable,
                       std::string(arguments[0].text));
  } else if (arguments.size() == 2) {
    value = parse_value(arguments[0]);
    if (!value) return nullptr;
  }
  return with_path(
      make_conversion(std::move(value), *type, name == "mandatoryBodyAs", std::string(name)), tail);
}

NodePtr Parser::parse_call(std::string_view name, Piece rest) {
  const Function* function = function_named(name);
  if (!function) return unknown_function(name, rest.offset - name.size());
  Nodes arguments;
  Piece tail = rest;
  if (rest.text.starts_with('(')) {
    if (!parse_arguments(name, rest, arguments, tail)) return nullptr;
  } else if (!function->bare) {
    return fail(rest.offset, "the function " + std::string(name) + " needs parentheses",
                "write ${" + std::string(name) + "()}");
  }
  if (arguments.size() < function->arguments_min || arguments.size() > function->arguments_max) {
    std::string count = std::to_string(function->arguments_min);
    if (function->arguments_max == kAnyNumber) {
      count += " or more";
    } else if (function->arguments_max != function->arguments_min) {
      count += " to " + std::to_string(function->arguments_max);
    }
    return fail(rest.offset - name.size(), std::string(name) + "() takes " + count +
                                               " arguments, not " +
                                               std::to_string(arguments.size()));
  }
  return with_path(make_call(*function, std::move(arguments)), tail);
}

// jsonpath($.a) or jsonpath(header:name, $.a); of jq only paths such as .a.b[0].
NodePtr Parser::parse_jsonpath(std::string_view function, Piece rest) {
  Piece inner, tail;
  if (!take_parentheses(function, rest, inner, tail)) return nullptr;
  inner = inner.trimmed();
  NodePtr input = make_body();
  for (const auto& [prefix, place] :
       {std::pair<std::string_view, NamedPlace>{"header:", NamedPlace::header},
        {"variable:", NamedPlace::variable},
        {"exchangeProperty:", NamedPlace::property}}) {
    if (!inner.text.starts_with(prefix)) continue;
    const size_t comma = inner.text.find(',');
    if (comma == kNone) return fail(inner.offset, "the path is missing behind the input");
    const Piece name = inner.sub(prefix.size(), comma - prefix.size()).trimmed();
    input = make_named(place, std::string(name.text));
    inner = inner.sub(comma + 1).trimmed();
    break;
  }
  if (is_quoted(inner.text)) inner = inner.sub(1, inner.text.size() - 2);
  const bool jq = function == "jq";
  const std::string text =
      jq ? (inner.text == "." ? "$" : "$" + std::string(inner.text)) : std::string(inner.text);
  JsonPathError problem;
  std::optional<JsonPath> path = JsonPath::parse(text, problem);
  const bool plain_path = path && inner.text.starts_with('.') && path->definite() &&
                          path->function == JsonFunction::none;
  if (jq && !plain_path)
    return fail(inner.offset, "only paths such as .order.items[0] of jq are supported",
                "use jsonpath(...) for more");
  if (!path)
    return fail(inner.offset + problem.offset, std::move(problem.what), std::move(problem.hint));
  return with_path(make_jsonpath(std::move(input), std::move(*path)), tail);
}

NodePtr Parser::parse_prefixed(std::string_view name, Piece rest) {
  if (!rest.text.starts_with(':') && !rest.text.starts_with('.'))
    return fail(rest.offset, "the name is missing", "write ${" + std::string(name) + ":NAME}");
  const Piece value = rest.sub(1);
  if (value.empty()) return fail(value.offset, "the name is missing");
  if (name == "env" || name == "sysenv") return make_environment(std::string(value.text));
  if (name == "sys") return make_system_property(std::string(value.text));
  if (name == "propertiesExist") return make_property_exists(std::string(value.text));
  if (name == "properties") {
    const size_t colon = value.text.find(':');
    if (colon == kNone) return make_property(std::string(value.text), std::nullopt);
    return make_property(std::string(value.text.substr(0, colon)),
                         std::string(value.text.substr(colon + 1)));
  }
  if (name == "file") {
    if (NodePtr node = make_file_part(value.text)) return node;
    return fail(value.offset, "there is no file:" + std::string(value.text),
                suggest(value.text, file_parts()));
  }
  return unknown_function(name, rest.offset - name.size());
}

NodePtr Parser::parse_date(std::string_view name, Piece rest) {
  if (!rest.text.starts_with(':'))
    return fail(rest.offset, "the date command is missing", "write ${date:now:yyyy-MM-dd}");
  Piece command_text = rest.sub(1);
  const size_t colon = command_text.text.find(':');
  DateCommand command;
  std::string what, hint;
  if (!DateCommand::parse(command_text.text.substr(0, colon), command, what, hint))
    return fail(command_text.offset, std::move(what), std::move(hint));
  std::shared_ptr<const TimeZone> zone = TimeZone::utc();
  Piece pattern_text = colon == kNone ? Piece() : command_text.sub(colon + 1);
  if (name == "date-with-timezone") {
    const size_t second = pattern_text.text.find(':');
    if (colon == kNone || second == kNone)
      return fail(rest.offset, "the time zone or the pattern is missing",
                  "write ${date-with-timezone:now:Europe/Paris:yyyy-MM-dd HH:mm}");
    Result<std::shared_ptr<const TimeZone>> named =
        TimeZone::named(pattern_text.text.substr(0, second));
    if (!named) return fail(pattern_text.offset, named.error().what, named.error().hint);
    zone = std::move(*named);
    pattern_text = pattern_text.sub(second + 1);
  } else if (colon == kNone) {
    return make_date(std::move(command));
  }
  size_t bad = 0;
  Result<DatePattern> pattern = DatePattern::parse(pattern_text.text, bad);
  if (!pattern) return fail(pattern_text.offset + bad, pattern.error().what, pattern.error().hint);
  return make_formatted_date(std::move(command), std::move(*pattern), std::move(zone));
}

}  // namespace drom::expr
