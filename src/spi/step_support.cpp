#include "spi/step_support.hpp"

#include <algorithm>

#include "drom/spi/route_specs.hpp"

namespace drom {

OptionSpec option(std::string name, OptionType type, std::string doc, std::string fallback,
                  std::string example) {
  OptionSpec out;
  out.name = std::move(name);
  out.type = type;
  out.doc = std::move(doc);
  out.fallback = std::move(fallback);
  out.example = std::move(example);
  return out;
}

OptionSpec bounded(OptionSpec spec, int64_t minimum, int64_t maximum) {
  spec.minimum = minimum;
  spec.maximum = maximum;
  return spec;
}

OptionSpec required_option(std::string name, OptionType type, std::string doc) {
  OptionSpec out = option(std::move(name), type, std::move(doc));
  out.required = true;
  return out;
}

OptionSpec enum_option(std::string name, std::vector<std::string> values, std::string doc,
                       std::string fallback) {
  OptionSpec out =
      option(std::move(name), OptionType::enumeration, std::move(doc), std::move(fallback));
  out.values = std::move(values);
  return out;
}

Config clause_config(const ConfigSpec& spec, const StepSpec& clause, BuildContext& context) {
  std::vector<OptionText> own;
  for (const OptionText& written : clause.options) {
    const auto same = [&](const OptionSpec& common) { return common.name == written.name; };
    const auto& common = common_options();
    if (std::none_of(common.begin(), common.end(), same)) own.push_back(written);
  }
  return Config::validate(spec, own, clause.where, context.properties(), context.diagnostics());
}

bool is_disabled(const StepSpec& clause, BuildContext& context) {
  const OptionText* const written = clause.find("disabled");
  if (!written) return false;
  const auto text = resolve_placeholders(written->text, context.properties(), written->where,
                                         context.diagnostics());
  return text == "true";
}

std::string_view bean_name(std::string_view reference) {
  if (reference.substr(0, 6) == "#bean:") return reference.substr(6);
  if (reference.substr(0, 1) == "#") return reference.substr(1);
  return reference;
}

Result<std::string> choose_bean(const std::vector<std::string>& names, std::string_view reference,
                                std::string_view what, std::string_view option) {
  if (!reference.empty()) {
    const std::string name(bean_name(reference));
    if (std::ranges::find(names, name) != names.end()) return name;
    return Error(ErrorKind::config, "there is no " + std::string(what) + " '" + name + "'",
                 did_you_mean(name, names));
  }
  if (names.size() <= 1) return names.empty() ? std::string() : names.front();
  return Error(ErrorKind::config, "there are several " + std::string(what) + "s and none is named",
               "choose one with " + std::string(option) + "=#" + names.front());
}

ExpressionPtr compile_template(std::string_view text, const Location& where,
                               BuildContext& context) {
  ExpressionError error;
  ExpressionPtr out = compile_expression("simple", text, ExpressionUse::value, error);
  if (!out) context.diagnostics().error("E0501", where, error.what, error.hint);
  return out;
}

}  // namespace drom
