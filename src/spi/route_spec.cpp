#include "drom/spi/route_spec.hpp"

namespace drom {

const OptionText* StepSpec::find(std::string_view option) const {
  for (const OptionText& text : options)
    if (text.name == option) return &text;
  return nullptr;
}

std::string_view StepSpec::text(std::string_view option) const {
  const OptionText* found = find(option);
  return found ? std::string_view(found->text) : std::string_view();
}

StepSpec& StepSpec::set(std::string option, std::string value) {
  OptionText& added = options.emplace_back();
  added.name = std::move(option);
  added.text = std::move(value);
  added.where = where;
  return *this;
}

StepSpec& StepSpec::set(std::string option, ExpressionSpec expression) {
  OptionText& added = options.emplace_back();
  added.name = std::move(option);
  added.expression = std::move(expression);
  added.is_expression = true;
  added.where = where;
  return *this;
}

}  // namespace drom
