#include <algorithm>
#include <array>

#include "drom/config/config.hpp"

namespace drom {
namespace {

constexpr size_t kDepthMax = 20;
constexpr size_t kTextMax = size_t{1} << 20;

// Camel's functions that read vaults, services and beans.
constexpr std::array<std::string_view, 12> kNotSupported = {
    "bean", "service", "service.host", "service.port", "service.name", "aws",
    "gcp",  "azure",   "hashicorp",    "secret",       "configmap",    "cyberark"};

// The end of the placeholder that starts with the `{{` at `at`: the matching `}}`.
size_t closing(std::string_view text, size_t at) {
  size_t depth = 0;
  for (size_t i = at; i + 1 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] == '{') {
      ++depth;
      ++i;
    } else if (text[i] == '}' && text[i + 1] == '}') {
      if (--depth == 0) return i;
      ++i;
    }
  }
  return std::string_view::npos;
}

// The first `c` outside of nested placeholders.
size_t find_outside(std::string_view text, char c) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("{{")) {
      const size_t end = closing(text, i);
      if (end == std::string_view::npos) return end;
      i = end + 1;
    } else if (text[i] == c) {
      return i;
    }
  }
  return std::string_view::npos;
}

bool equals_ignoring_case(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(), [](char x, char y) {
    return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + ('a' - 'A')) : x) == y;
  });
}

class Resolver {
 public:
  Resolver(std::string_view whole, const PropertySource& source, const Location& where,
           Diagnostics& diagnostics)
      : whole_(whole), source_(source), where_(where), diagnostics_(diagnostics) {}

  // nullopt: failed, or an optional placeholder is unset.
  std::optional<std::string> resolve(std::string_view text) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text.substr(at).starts_with("\\{{") || text.substr(at).starts_with("\\}}")) {
        out += text.substr(at + 1, 2);
        at += 3;
      } else if (text.substr(at).starts_with("{{")) {
        const size_t end = closing(text, at);
        if (end == std::string_view::npos)
          return fail(text, at, "'{{' is never closed",
                      "add the missing '}}', or write \\{{ for the signs themselves");
        std::optional<std::string> value = placeholder(text, at, text.substr(at + 2, end - at - 2));
        if (!value) return std::nullopt;
        out += *value;
        at = end + 2;
      } else {
        out += text[at++];
      }
      if (out.size() > kTextMax)
        return fail(text, 0, "placeholders make a text of more than 1 MiB",
                    "look for a property that holds itself");
    }
    return out;
  }

 private:
  std::nullopt_t fail(std::string_view text, size_t offset, std::string what, std::string hint,
                      std::string code = "E0210") {
    failed_ = true;
    diagnostics_.error(std::move(code), locate(text, offset), std::move(what), std::move(hint));
    return std::nullopt;
  }
  // Only what stands in the file has a place in it; a property's value has not.
  Location locate(std::string_view text, size_t offset) const {
    const bool inside =
        text.data() >= whole_.data() && text.data() <= whole_.data() + whole_.size();
    if (!inside) return where_;
    return diagnostics_.inside(where_, whole_,
                               static_cast<size_t>(text.data() - whole_.data()) + offset);
  }

  // `inner` is what stands between the braces at text[at].
  std::optional<std::string> placeholder(std::string_view text, size_t at, std::string_view inner) {
    const std::string written = "{{" + std::string(inner) + "}}";
    bool optional = false;
    bool negated = false;
    if (inner.starts_with("?")) {
      optional = true;
      inner.remove_prefix(1);
    } else if (inner.starts_with("!")) {
      negated = true;
      inner.remove_prefix(1);
    }
    bool nested = true;
    if (inner.ends_with("?nested=false")) {
      nested = false;
      inner.remove_suffix(std::string_view("?nested=false").size());
    } else if (inner.ends_with("?optional=true")) {
      optional = true;
      inner.remove_suffix(std::string_view("?optional=true").size());
    }
    size_t colon = find_outside(inner, ':');
    std::string_view function;
    if (colon != std::string_view::npos) {
      const std::string_view before = inner.substr(0, colon);
      if (std::find(kNotSupported.begin(), kNotSupported.end(), before) != kNotSupported.end())
        return fail(text, at,
                    "the placeholder function '" + std::string(before) +
                        "' is known in Camel, not supported yet",
                    "use {{key}} with application.properties or -D, or {{env:NAME}}", "E0303");
      if (before == "env" || before == "sys") {
        function = before;
        inner.remove_prefix(colon + 1);
        colon = find_outside(inner, ':');
      }
    }
    const std::optional<std::string> key = resolve(inner.substr(0, colon));
    if (!key) return std::nullopt;
    if (key->empty())
      return fail(text, at, "the placeholder " + written + " has no name", "write {{name}}");

    std::optional<std::string> value = look_up(function, *key);
    if (value && nested) value = resolve_value(text, at, *key, *value);
    if (failed_) return std::nullopt;
    if (!value && colon != std::string_view::npos) value = resolve(inner.substr(colon + 1));
    if (!value) {
      if (optional || failed_) return std::nullopt;
      return undefined(text, at, function, *key);
    }
    if (!negated) return value;
    if (equals_ignoring_case(*value, "true")) return "false";
    if (equals_ignoring_case(*value, "false")) return "true";
    return fail(
        text, at,
        "the property '" + *key + "' is neither true nor false, so " + written + " has no opposite",
        "write {{" + *key + "}}, or give the property true or false");
  }

  std::optional<std::string> look_up(std::string_view function, const std::string& key) const {
    return function == "env" ? source_.environment(key) : source_.property(key);
  }

  // A property's value may hold placeholders; one that leads back to itself is an error.
  std::optional<std::string> resolve_value(std::string_view text, size_t at, const std::string& key,
                                           const std::string& value) {
    if (value.find("{{") == std::string::npos) return value;
    if (std::find(open_.begin(), open_.end(), key) != open_.end() || open_.size() >= kDepthMax)
      return fail(text, at, "the property '" + key + "' leads back to itself",
                  "give one of the properties a value of its own");
    open_.push_back(key);
    std::optional<std::string> out = resolve(value);
    open_.pop_back();
    return out;
  }

  std::nullopt_t undefined(std::string_view text, size_t at, std::string_view function,
                           const std::string& key) {
    if (function == "env")
      return fail(text, at, "the environment variable '" + key + "' is not set",
                  "set it, or write {{env:" + key + ":default}}", "E0209");
    return fail(text, at, "the property '" + key + "' is not defined",
                "define it in application.properties or by -D " + key + "=..., or write {{" + key +
                    ":default}}",
                "E0209");
  }

  std::string_view whole_;
  const PropertySource& source_;
  const Location& where_;
  Diagnostics& diagnostics_;
  std::vector<std::string> open_;
  bool failed_ = false;
};

}  // namespace

std::optional<std::string> resolve_placeholders(std::string_view text, const PropertySource& source,
                                                const Location& where, Diagnostics& diagnostics) {
  if (text.find("{{") == std::string_view::npos && text.find("\\}}") == std::string_view::npos)
    return std::string(text);
  return Resolver(text, source, where, diagnostics).resolve(text);
}

std::optional<std::string> resolved_property(const PropertySource& source, std::string_view key) {
  Diagnostics undefined;
  return resolve_placeholders("{{?" + std::string(key) + "}}", source, Location(), undefined);
}

}  // namespace drom
