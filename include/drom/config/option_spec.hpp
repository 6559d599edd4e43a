// One declaration per option: parsing, validation, did-you-mean, `drom doc`, the reference pages
// and the JSON Schema all come from it. A ConfigSpec describes a step, a clause of a step, or the
// endpoint of a component. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drom {

enum class OptionType : uint8_t {
  text,
  integer,
  number,
  boolean,
  duration,     // "500ms", "1m30s", or a bare number of milliseconds
  size,         // bytes: "512", "64KB", "10MB"
  enumeration,  // one of `values`
  list,         // texts: a YAML list or a comma separated text
  expression,   // {language: text}; evaluated per exchange
  predicate,    // an expression used as a condition
  reference,    // the name of a bean
};

struct OptionSpec {
  std::string name = {};  // Camel's name
  OptionType type = OptionType::text;
  std::string doc = {};       // one sentence, ends with a full stop
  std::string fallback = {};  // default as text; empty = none
  std::string example = {};
  std::vector<std::string> values = {};  // enumeration only
  bool required = false;
  bool secret = false;          // never printed
  bool path = false;            // endpoints: comes from the URI path, in declaration order
  int64_t minimum = INT64_MIN;  // integer, size, duration (ms)
  int64_t maximum = INT64_MAX;
};

enum class StepsRule : uint8_t { none, optional, required };

struct ConfigSpec {
  std::string name;   // "setHeader", "kafka"
  std::string title;  // "Set Header"
  std::string doc;    // what it is for and when to use it; a paragraph
  std::vector<OptionSpec> options;
  std::string scalar;  // the option that takes a scalar (`to: "uri"`); empty = none
  std::string
      inline_expression;  // the option whose languages may stand inline (`setBody: {simple}`)
  StepsRule steps = StepsRule::none;
  bool parameters = false;          // takes a `parameters` map (to, toD, from)
  std::vector<ConfigSpec> clauses;  // when/otherwise, doCatch/doFinally, headers ...
  bool repeat = false;              // as a clause: may stand several times (a YAML list)
  std::string example;              // YAML, runnable
  // Endpoints only.
  std::string syntax;     // "file:directory"
  bool consumes = false;  // may stand in `from`
  bool produces = false;  // may stand in `to`
  // Endpoints only: options whose names are free (http query parameters that are sent on).
  bool free_parameters = false;
};

}  // namespace drom
