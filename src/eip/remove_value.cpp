#include "eip/remove_value.hpp"

#include <regex>

#include "spi/step_support.hpp"

namespace drom {
namespace {

struct FromHeaders {
  static void erase(Exchange& exchange, std::string_view name) {
    exchange.message.headers.erase(name);
  }
};
struct FromProperties {
  static void erase(Exchange& exchange, std::string_view name) { exchange.properties.erase(name); }
};
struct FromVariables {
  static void erase(Exchange& exchange, std::string_view name) { exchange.variables.erase(name); }
};

template <class Target>
class RemoveOne final : public Processor {
 public:
  explicit RemoveOne(std::string name) : name_(std::move(name)) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) Target::erase(exchange, name_);
  }
  bool takes_streams() const override { return true; }

 private:
  std::string name_;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

// Camel's pattern: an exact name, a prefix that ends in '*', or a regular expression; case is
// ignored.
class NamePattern {
 public:
  // An error text when the regular expression is wrong.
  static Result<NamePattern> parse(const std::string& text) {
    NamePattern out;
    for (const char c : text) out.text_ += lower(c);
    if (text.ends_with('*') && text.find_first_of("^$.|?+()[]{}\\*") == text.size() - 1) {
      out.text_.pop_back();
      out.prefix_ = true;
    } else if (text.find_first_of("^$|?+()[]{}\\*") != std::string::npos) {
      try {
        out.regex_ =
            std::regex(text, std::regex::ECMAScript | std::regex::icase | std::regex::optimize);
      } catch (const std::regex_error& e) {
        return Error(ErrorKind::config, "'" + text + "' is no regular expression: " + e.what());
      }
    }
    return out;
  }
  bool matches(std::string_view name) const {
    if (regex_ && std::regex_match(name.begin(), name.end(), *regex_)) return true;
    if (prefix_ ? name.size() < text_.size() : name.size() != text_.size()) return false;
    return std::equal(text_.begin(), text_.end(), name.begin(),
                      [](char p, char c) { return p == lower(c); });
  }

 private:
  std::string text_;
  bool prefix_ = false;
  std::optional<std::regex> regex_;
};

struct PatternPair {
  NamePattern pattern;
  std::vector<NamePattern> except;

  bool removes(std::string_view name) const {
    if (!pattern.matches(name)) return false;
    for (const NamePattern& keep : except)
      if (keep.matches(name)) return false;
    return true;
  }
};

class RemoveHeaders final : public Processor {
 public:
  explicit RemoveHeaders(PatternPair names) : names_(std::move(names)) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch)
      exchange.message.headers.erase_if(
          [this](const Headers::Entry& header) { return names_.removes(header.first); });
  }
  bool takes_streams() const override { return true; }

 private:
  PatternPair names_;
};

class RemoveProperties final : public Processor {
 public:
  explicit RemoveProperties(PatternPair names) : names_(std::move(names)) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      Properties kept;
      for (auto& [name, value] : exchange.properties)
        if (!names_.removes(name)) kept.append(name, value);
      exchange.properties = std::move(kept);
    }
  }

 private:
  PatternPair names_;
};

ConfigSpec one_spec(std::string name, std::string title, std::string doc, std::string example) {
  ConfigSpec spec;
  spec.name = std::move(name);
  spec.title = std::move(title);
  spec.doc = std::move(doc);
  spec.options.push_back(required_option("name", OptionType::text, "The name to remove."));
  spec.scalar = "name";
  spec.example = std::move(example);
  return spec;
}

ConfigSpec pattern_spec(std::string name, std::string title, std::string doc, std::string example) {
  ConfigSpec spec = one_spec(std::move(name), std::move(title), std::move(doc), std::move(example));
  spec.options.clear();
  spec.options.push_back(required_option("pattern", OptionType::text,
                                         "Names to remove: an exact name, a prefix that ends in *, "
                                         "or a regular expression; case is ignored."));
  spec.options.push_back(option("excludePattern", OptionType::text,
                                "Names to keep though they match the pattern; same forms."));
  spec.scalar = "pattern";
  return spec;
}

ConfigSpec remove_header_spec() {
  return one_spec("removeHeader", "Remove Header", "Removes one message header.",
                  "- removeHeader: password\n");
}
ConfigSpec remove_property_spec() {
  return one_spec("removeProperty", "Remove Property", "Removes one exchange property.",
                  "- removeProperty: total\n");
}
ConfigSpec remove_variable_spec() {
  return one_spec("removeVariable", "Remove Variable", "Removes one exchange variable.",
                  "- removeVariable: original\n");
}
ConfigSpec remove_headers_spec() {
  return pattern_spec(
      "removeHeaders", "Remove Headers",
      "Removes all headers whose names match a pattern. Use it before a send, so that "
      "headers of one protocol do not leak into another.",
      "- removeHeaders:\n    pattern: \"*\"\n    excludePattern: tenant\n");
}
ConfigSpec remove_properties_spec() {
  return pattern_spec("removeProperties", "Remove Properties",
                      "Removes all exchange properties whose names match a pattern.",
                      "- removeProperties: \"tmp*\"\n");
}

template <class Target>
Step make_remove(const StepSpec&, const Config& config, BuildContext&) {
  return Step(std::make_unique<RemoveOne<Target>>(config.text("name")));
}

template <class RemoveMany>
Step make_remove_many(const StepSpec&, const Config& config, BuildContext& context) {
  const auto parse = [&](std::string_view name) {
    Result<NamePattern> out = NamePattern::parse(config.text(name));
    if (!out) context.diagnostics().error("E0505", config.where(name), out.error().what);
    return out;
  };
  Result<NamePattern> pattern = parse("pattern");
  if (!pattern) return Step();
  PatternPair names{std::move(*pattern), {}};
  if (config.has("excludePattern")) {
    Result<NamePattern> except = parse("excludePattern");
    if (!except) return Step();
    names.except.push_back(std::move(*except));
  }
  return Step(std::make_unique<RemoveMany>(std::move(names)));
}

}  // namespace

void register_remove_value(Registry& registry) {
  registry.add(StepInfo{"removeHeader", remove_header_spec, make_remove<FromHeaders>});
  registry.add(StepInfo{"removeProperty", remove_property_spec, make_remove<FromProperties>});
  registry.add(StepInfo{"removeVariable", remove_variable_spec, make_remove<FromVariables>});
  registry.add(StepInfo{"removeHeaders", remove_headers_spec, make_remove_many<RemoveHeaders>});
  registry.add(
      StepInfo{"removeProperties", remove_properties_spec, make_remove_many<RemoveProperties>});
}

}  // namespace drom
