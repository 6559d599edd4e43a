#include <algorithm>

#include "config/option_value.hpp"
#include "drom/expr/expression.hpp"
#include "dsl/reference.hpp"

namespace drom {
namespace {

class Page {
 public:
  explicit Page(size_t width) : width_(std::max<size_t>(width, 40)) {}
  std::string take() { return std::move(out_); }

  void line(std::string_view text = {}) { out_ += std::string(text) + "\n"; }

  // Breaks at blanks; every line starts with `indentation` blanks.
  void paragraph(std::string_view text, size_t indentation) {
    const std::string start(indentation, ' ');
    std::string current = start;
    while (!text.empty()) {
      const size_t begin = text.find_first_not_of(" \n");
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      const std::string_view word = text.substr(0, text.find_first_of(" \n"));
      if (current.size() > indentation && current.size() + 1 + word.size() > width_) {
        line(current);
        current = start;
      }
      if (current.size() > indentation) current += ' ';
      current += word;
      text.remove_prefix(word.size());
    }
    if (current.size() > indentation) line(current);
  }

  void verbatim(std::string_view text, size_t indentation) {
    while (!text.empty()) {
      const std::string_view row = text.substr(0, text.find('\n'));
      line(std::string(indentation, ' ') + std::string(row));
      text.remove_prefix(std::min(text.size(), row.size() + 1));
    }
  }

 private:
  size_t width_;
  std::string out_;
};

std::string type_word(const OptionSpec& option) {
  if (option.type != OptionType::enumeration) return std::string(type_phrase(option.type));
  std::string out = "one of";
  for (const std::string& value : option.values) out += (out == "one of" ? " " : ", ") + value;
  return out;
}

void add_option(Page& page, const OptionSpec& option, size_t indentation) {
  std::string facts = type_word(option);
  if (option.required) facts += ", required";
  if (option.path) facts += ", in the path";
  if (option.secret) facts += ", secret";
  if (!option.fallback.empty()) facts += ", default " + option.fallback;
  if (option.minimum != INT64_MIN)
    facts += ", at least " + show_number(option.type, option.minimum);
  if (option.maximum != INT64_MAX) facts += ", at most " + show_number(option.type, option.maximum);
  page.paragraph(option.name + "  (" + facts + ")", indentation);
  page.paragraph(option.doc, indentation + 4);
  if (!option.example.empty()) page.paragraph("Example: " + option.example, indentation + 4);
}

void add_body(Page& page, const ConfigSpec& spec, size_t indentation) {
  if (!spec.options.empty()) {
    page.line();
    page.line(std::string(indentation, ' ') + "OPTIONS");
    for (const OptionSpec& option : spec.options) add_option(page, option, indentation + 2);
  }
  if (!spec.inline_expression.empty()) {
    std::string languages = "The expression may stand inline, by its language:";
    for (const std::string& language : expression_languages()) languages += " " + language;
    page.paragraph(languages, indentation + 2);
  }
  if (spec.parameters) page.paragraph("parameters: the options of the endpoint", indentation + 2);
  if (spec.steps != StepsRule::none) page.paragraph("steps: a list of steps", indentation + 2);
  for (const ConfigSpec& clause : spec.clauses) {
    page.line();
    page.line(std::string(indentation, ' ') + clause.name + (clause.repeat ? "  (a list)" : ""));
    page.paragraph(clause.doc, indentation + 2);
    add_body(page, clause, indentation + 2);
  }
}

std::string first_line(const ReferenceEntry& entry) {
  const ConfigSpec& spec = entry.spec;
  std::string out = spec.name;
  switch (entry.kind) {
    case ReferenceKind::component:
      out += "  component " + spec.syntax +
             (spec.consumes && spec.produces ? "  (from, to)"
              : spec.consumes                ? "  (from)"
                                             : "  (to)");
      break;
    case ReferenceKind::step: out += "  step"; break;
    case ReferenceKind::bean: out += "  bean type"; break;
    case ReferenceKind::route: break;
  }
  return out;
}

}  // namespace

std::string reference_text(const ReferenceEntry& entry, size_t width) {
  Page page(width);
  page.line(first_line(entry));
  for (const std::string& alias : entry.aliases) page.line("  also: " + alias);
  page.line();
  page.paragraph(entry.spec.doc, 2);
  if (!entry.spec.scalar.empty())
    page.paragraph("Short form: " + entry.spec.name + ": " + entry.spec.scalar, 2);
  add_body(page, entry.spec, 0);
  if (!entry.spec.example.empty()) {
    page.line();
    page.line("EXAMPLE");
    page.verbatim(entry.spec.example, 2);
  }
  return page.take();
}

}  // namespace drom
