#include "expr/functions.hpp"

#include <algorithm>

#include "expr/compare.hpp"

namespace drom::expr {
namespace {

class CallNode final : public Node {
 public:
  CallNode(const Function& function, Nodes arguments)
      : function_(function), arguments_(std::move(arguments)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    return function_.run(Call(frame, arguments_));
  }

 private:
  const Function& function_;  // in a constant table
  Nodes arguments_;
};

std::span<const Function> (*const kTables[])() = {text_functions, list_functions, number_functions,
                                                  exchange_functions};

constexpr std::string_view kOtherNames[] = {"body",
                                            "bodyAs",
                                            "mandatoryBodyAs",
                                            "header",
                                            "headers",
                                            "headerAs",
                                            "variable",
                                            "variables",
                                            "variableAs",
                                            "exchangeProperty",
                                            "exception",
                                            "date",
                                            "date-with-timezone",
                                            "properties",
                                            "propertiesExist",
                                            "env",
                                            "sysenv",
                                            "sys",
                                            "file",
                                            "jsonpath",
                                            "jq",
                                            "convertTo"};

Result<std::string> as_text(Result<Operand> value) {
  if (!value) return std::move(value.error());
  std::string buffer;
  return std::string(text_of(value->get(), buffer));
}

}  // namespace

Result<Operand> Call::value_or_body(size_t i) const {
  if (i < nodes_.size()) return value(i);
  return Operand::borrow(&frame_.body);
}

Result<std::string> Call::text(size_t i) const { return as_text(value(i)); }
Result<std::string> Call::text_or_body(size_t i) const { return as_text(value_or_body(i)); }

Result<int64_t> Call::integer(size_t i) const {
  const Result<Operand> found = value(i);
  if (!found) return found.error();
  if (const auto whole = found->get().to_int()) return *whole;
  return data_error("argument " + std::to_string(i + 1) + " must be a whole number, not '" +
                    found->get().to_text().substr(0, 40) + "'");
}

const Function* function_named(std::string_view name) {
  for (const auto table : kTables)
    for (const Function& function : table())
      if (function.name == name) return &function;
  return nullptr;
}

std::vector<std::string_view> function_names() {
  std::vector<std::string_view> out(std::begin(kOtherNames), std::end(kOtherNames));
  for (const auto table : kTables)
    for (const Function& function : table()) out.push_back(function.name);
  return out;
}

NodePtr make_call(const Function& function, Nodes arguments) {
  return std::make_unique<CallNode>(function, std::move(arguments));
}

}  // namespace drom::expr
