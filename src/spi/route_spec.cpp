#include "drom/spi/route_spec.hpp"

namespace drom {

const OptionText* StepSpec::find(std::string_view option) const {
  for (const OptionText& written : options)
    if (written.name == option) return &written;
  return nullptr;
}

std::string_view StepSpec::text(std::string_view option) const {
  const OptionText* const written = find(option);
  return written ? std::string_view(written->text) : std::string_view();
}

StepSpec& StepSpec::set(std::string option, std::string text) {
  OptionText written;
  written.name = std::move(option);
  written.text = std::move(text);
  written.where = where;
  options.push_back(std::move(written));
  return *this;
}

StepSpec& StepSpec::set(std::string option, ExpressionSpec expression) {
  OptionText written;
  written.name = std::move(option);
  written.expression = std::move(expression);
  written.where = where;
  written.is_expression = true;
  options.push_back(std::move(written));
  return *this;
}

}  // namespace drom
