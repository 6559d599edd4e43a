#include "config/error_codes.hpp"

namespace drom {
namespace {

constexpr ErrorCode kCodes[] = {
    {"E0001", "file cannot be read",
     "There is no such file, or its permissions forbid reading it."},
    // The text of the file.
    {"E0101", "not well-formed YAML",
     "The text breaks the rules of YAML; mostly the indentation is wrong, or a text with `: ` in "
     "it lacks quotes."},
    {"E0102", "not UTF-8 text",
     "The file holds bytes that are no UTF-8, NUL or control characters, or starts with a byte "
     "order mark. Save it "
     "as plain UTF-8."},
    {"E0103", "tab in the indentation", "YAML is indented with spaces only."},
    {"E0104", "anchor or alias",
     "`&name` and `*name` are not supported. Write the part out, or share it by a "
     "routeConfiguration or a "
     "placeholder."},
    {"E0105", "tag",
     "`!!type` and `!name` are not supported; all values are texts until an option reads them."},
    {"E0106", "name given twice", "A map holds the same name twice; one of the two would be lost."},
    {"E0107", "too large",
     "The file has more than 1 MiB, more than 100000 values, or is nested more than 100 levels "
     "deep."},
    {"E0108", "several documents", "A route file is one list; `---` starts a second document."},
    // Options and placeholders.
    {"E0201", "unknown option",
     "The node or the component has no option of this name; options are case-sensitive."},
    {"E0202", "option missing", "A required option is not given, or is empty."},
    {"E0203", "wrong type",
     "The value cannot be read as what the option takes: a number, true or false, a duration "
     "(`500ms`, `5s`, "
     "`1m30s`), a size (`64KB`), a list."},
    {"E0204", "out of range",
     "The number, duration or size is below the minimum or above the maximum of the option."},
    {"E0205", "not one of the values",
     "The option takes one of a few values; upper and lower case are the same."},
    {"E0206", "option given twice",
     "The same option stands twice, such as in the URI and in `parameters`, or a step has two "
     "expressions."},
    {"E0207", "expression cannot be read",
     "The text is no valid expression of its language; the column says where."},
    {"E0209", "placeholder without value",
     "`{{name}}` is defined neither by `-D name=value` nor in application.properties nor in the "
     "environment, and has "
     "no default."},
    {"E0210", "placeholder cannot be read",
     "`{{` without `}}`, properties that lead back to themselves, or `{{!name}}` of a property "
     "that is neither true "
     "nor false."},
    {"E0211", "application.properties cannot be read",
     "The file is no UTF-8 text, or one of its lines is no property."},
    {"E0212", "property with a wrong value",
     "A property of the engine itself, such as `drom.management.port`, cannot be read."},
    // The form of the DSL.
    {"E0301", "unknown item",
     "The top level of a route file is a list of `route`, `from`, `routeConfiguration`, "
     "`onException`, `errorHandler` and `beans`."},
    {"E0303", "known in Camel, not supported yet",
     "Camel has it, Dromedary has it not; the hint says what to use instead."},
    {"E0304", "steps beside from",
     "The old form of Camel before 3.15: `steps` belongs inside of `from`."},
    {"E0305", "route without from", "A route needs a source: `from` with `uri` and `steps`."},
    {"E0306", "wrong form",
     "A map, a list or a text stands where another of the three is expected."},
    {"E0307", "expression missing or unknown",
     "Where an expression is expected stands none, more than one, or one of an unknown language."},
    {"E0308", "wrong place",
     "The name is known but belongs elsewhere; mostly the indentation is wrong."},
    {"E0309", "no steps", "The node needs `steps`."},
    {"E0310", "not one step", "Each item of a list of steps is a map with one name, the step's."},
    {"E0311", "old spelling",
     "A warning: names with hyphens (`set-body`) are Camel's old spelling of `setBody`."},
    {"E0312", "second error handler",
     "There is one error handler for a file, a route or a routeConfiguration."},
    {"E0313", "bean name used twice",
     "Two beans of the same name: routes could not tell which is meant."},
    {"E0315", "second restConfiguration",
     "What all `rest` services share is said once, in one of the files."},
    {"E0316", "operation without target",
     "Each operation of `rest` needs `to`, the endpoint that answers, or `steps`, not both."},
    {"E0317", "parameter that is not in the path",
     "A `param` of type path must be a {name} of the path of its operation."},
    {"E0318", "unknown key",
     "`apiProperty` and `corsHeaders` know a few keys; a key of `security` must be defined."},
    {"E0319", "specification cannot be used",
     "`openApi` names no readable OpenAPI 3 document in JSON or YAML, or one whose operations have "
     "no "
     "route that starts from `direct:` and the operationId."},
    // What the engine finds when it builds the routes.
    {"E0401", "unknown component",
     "The part of the URI before the first `:` names no component of this build."},
    {"E0402", "endpoint cannot be made",
     "The options of the endpoint contradict each other, or its path is wrong."},
    {"E0403", "wrong direction",
     "The endpoint cannot be the source of a route, or cannot be sent to."},
    {"E0404", "route id used twice",
     "Route ids name routes in logs, metrics and the admin interface."},
    {"E0405", "step id used twice", "Step ids are unique within their route."},
    {"E0406", "unknown step", "There is no step of this name."},
    {"E0407", "endpoint without partner",
     "Nobody serves the name, such as a `direct:` that no route starts from."},
    {"E0408", "unknown bean type",
     "`type` names no bean type of this build and no Java class that stands for one."},
    {"E0409", "bean cannot be made",
     "The bean refused its properties, or what they name is not there."},
    {"E0411", "unknown routeConfiguration", "`routeConfigurationId` names no routeConfiguration."},
    {"E0413", "wrong delay pattern", "`delayPattern` is written like `5:1000;10:5000`."},
    // What steps find.
    {"E0501", "template cannot be read",
     "A text with `${...}` in it is no valid simple expression."},
    {"E0502", "unknown reference",
     "The name is that of no registered bean, function, repository or strategy."},
    {"E0503", "step incomplete", "The step lacks a part without which it would do nothing."},
    {"E0504", "dynamic scheme",
     "The scheme of a dynamic endpoint must stand in the route, not in the message."},
    {"E0505", "wrong value", "The value is of the right type, but the step cannot use it."},
    {"E0506", "not for batches",
     "A step inside `transacted` with `batch` has effects outside of the transaction."},
    {"E0507", "two data sources",
     "Steps of one `transacted` block work on two data sources, which cannot commit together."},
    {"E0508", "ambiguous target",
     "Sends are kept in an outbox, and two endpoints with different options have one name."},
};

}  // namespace

std::span<const ErrorCode> error_codes() { return kCodes; }

const ErrorCode* find_error_code(std::string_view code) {
  for (const ErrorCode& known : kCodes)
    if (known.code == code) return &known;
  return nullptr;
}

std::string error_codes_page() {
  std::string out =
      "# Configuration errors\n\n"
      "Messages of `drom validate` and of a start that was refused (exit code 78) carry one of "
      "these codes, which "
      "do not change. Each message names the place, shows the line and says what to change.\n\n"
      "| Code | Title | What it means |\n|---|---|---|\n";
  for (const ErrorCode& entry : kCodes) {
    out += "| `" + std::string(entry.code) + "` | " + std::string(entry.title) + " | " +
           std::string(entry.meaning) + " |\n";
  }
  return out;
}

}  // namespace drom
