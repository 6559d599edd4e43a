#include "drom/config/config.hpp"

namespace drom {
namespace {

constexpr int kDepthMax = 16;

// One call of resolve_placeholders. Values may hold placeholders again; the depth bounds circles.
class Resolver {
 public:
  Resolver(const PropertySource& source, const Location& where, Diagnostics& diagnostics)
      : source_(source), where_(where), diagnostics_(diagnostics) {}

  // nullopt: an error was reported, or unset() holds.
  std::optional<std::string> resolve(std::string_view text, int depth) {
    if (depth > kDepthMax) return fail("E0210", "placeholders refer to each other in a circle", "break the circle of properties");
    std::string out;
    size_t at = 0;
    while (true) {
      const size_t open = text.find("{{", at);
      if (open == std::string_view::npos) {
        out += text.substr(at);
        return out;
      }
      if (open > at && text[open - 1] == '\\') {  // \{{ is literal
        out += text.substr(at, open - 1 - at);
        out += "{{";
        at = open + 2;
        continue;
      }
      out += text.substr(at, open - at);
      const size_t close = find_close(text, open + 2);
      if (close == std::string_view::npos)
        return fail("E0210", "'{{' is never closed", "write {{name}}, or \\{{ for two braces as text");
      const std::optional<std::string> inner = resolve(text.substr(open + 2, close - open - 2), depth + 1);
      if (!inner) return std::nullopt;
      const std::optional<std::string> value = look_up(*inner, depth);
      if (!value) return std::nullopt;
      out += *value;
      at = close + 2;
    }
  }
  bool unset() const { return unset_; }

 private:
  static size_t find_close(std::string_view text, size_t at) {
    int depth = 1;
    while (at + 1 < text.size()) {
      const std::string_view two = text.substr(at, 2);
      if (two == "{{") {
        ++depth;
        at += 2;
      } else if (two == "}}") {
        if (--depth == 0) return at;
        at += 2;
      } else {
        ++at;
      }
    }
    return std::string_view::npos;
  }

  std::optional<std::string> look_up(std::string_view key, int depth) {
    const bool optional = key.starts_with('?');
    const bool negated = key.starts_with('!');
    if (optional || negated) key.remove_prefix(1);
    std::optional<std::string> value = find(key);
    if (value) value = resolve(*value, depth + 1);
    if (!value && failed_) return std::nullopt;
    if (!value && optional) {
      unset_ = true;
      return std::nullopt;
    }
    if (!value)
      return fail("E0209", "the placeholder {{" + std::string(key) + "}} has no value",
                  key.starts_with("env:") ? "set the environment variable or write {{" + std::string(key) + ":default}}"
                                          : "define it with -D " + std::string(key) +
                                                "=VALUE or in application.properties, or write {{" + std::string(key) +
                                                ":default}}");
    if (!negated) return value;
    if (*value == "true") return "false";
    if (*value == "false") return "true";
    return fail("E0210", "{{!" + std::string(key) + "}} needs true or false", "");
  }

  // "name", "name:default", "env:NAME", "env:NAME:default", "sys:name".
  std::optional<std::string> find(std::string_view key) {
    const bool environment = key.starts_with("env:");
    if (environment || key.starts_with("sys:")) key.remove_prefix(4);
    const size_t colon = key.find(':');
    const std::string_view name = key.substr(0, colon);
    std::optional<std::string> value = environment ? source_.environment(name) : source_.property(name);
    if (!value && colon != std::string_view::npos) value = std::string(key.substr(colon + 1));
    return value;
  }

  std::nullopt_t fail(std::string code, std::string what, std::string hint) {
    failed_ = true;
    diagnostics_.error(std::move(code), where_, std::move(what), std::move(hint));
    return std::nullopt;
  }

  const PropertySource& source_;
  const Location& where_;
  Diagnostics& diagnostics_;
  bool unset_ = false;
  bool failed_ = false;
};

}  // namespace

std::optional<std::string> resolve_placeholders(std::string_view text, const PropertySource& source,
                                                const Location& where, Diagnostics& diagnostics) {
  if (text.find("{{") == std::string_view::npos) return std::string(text);
  Resolver resolver(source, where, diagnostics);
  return resolver.resolve(text, 0);
}

}  // namespace drom
