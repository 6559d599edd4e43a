#include "connectors/file/target.hpp"

namespace drom::file {
namespace {

bool leads_away(std::string_view folder) {
  return folder.starts_with('/') || folder == ".." || folder.starts_with("../") ||
         folder.find("/../") != std::string_view::npos || folder.ends_with("/..");
}

std::string without_end_slash(std::string_view text) {
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

Result<ExpressionPtr> compiled(std::string_view option, std::string_view text) {
  ExpressionError error;
  ExpressionPtr out = compile_expression("simple", text, ExpressionUse::value, error);
  if (!out) return Error(ErrorKind::config, std::string(option) + ": " + error.what, error.hint);
  return out;
}

}  // namespace

Result<Target> Target::parse(std::string_view option, std::string_view text) {
  Target out;
  std::string folder = without_end_slash(text);
  const size_t dynamic = text.find("${");
  if (dynamic != std::string_view::npos) {
    const size_t slash = text.substr(0, dynamic).rfind('/');
    const size_t split = slash == std::string_view::npos ? 0 : slash + 1;
    folder = without_end_slash(text.substr(0, split));
    Result<ExpressionPtr> rest = compiled(option, text.substr(split));
    if (!rest) return rest.error();
    out.rest_ = std::move(*rest);
  }
  if (leads_away(folder)) {
    out.elsewhere_ = std::move(folder);
    return out;
  }
  if (folder.empty()) return out;
  Result<std::string> name = safe_name(folder);
  if (!name)
    return Error(ErrorKind::config, std::string(option) + ": " + name.error().what,
                 name.error().hint);
  out.beside_ = std::move(*name);
  return out;
}

Result<Spot> Target::spot(const Spot& file, const DirectoryPtr& outside, const Exchange& exchange,
                          const EvalScope& scope) const {
  // Elsewhere the folders of the file are kept, beside the file they are there already.
  std::string name = elsewhere_.empty() ? std::string(base_of(file.name)) : file.name;
  if (rest_) {
    Result<Value> value = rest_->evaluate(exchange, scope);
    if (!value) return value.error();
    Result<std::string> safe = safe_name(value->to_text());
    if (!safe) return safe.error();
    name = std::move(*safe);
  }
  if (!elsewhere_.empty()) return Spot{outside, std::move(name)};
  return Spot{file.directory, joined(joined(folder_of(file.name), beside_), name)};
}

}  // namespace drom::file
