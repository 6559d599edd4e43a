#include "config/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>

#include "config/scalar_text.hpp"
#include "config/source_text.hpp"
#include "config/yaml_text.hpp"
#include "drom/base/json.hpp"

namespace drom {
namespace {

// As it was written.
std::string short_tag(const std::string& tag) {
  constexpr std::string_view kStandard = "tag:yaml.org,2002:";
  return tag.starts_with(kStandard) ? "!!" + tag.substr(kStandard.size(), 40) : tag.substr(0, 40);
}

// Leaves yaml-cpp's parser from within a callback; the reason has been reported.
struct StopReading {};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, std::shared_ptr<const std::string> file,
              Diagnostics& diagnostics)
      : text_(text), source_(text), file_(std::move(file)), diagnostics_(diagnostics) {
    ascii_ = std::all_of(text.begin(), text.end(),
                         [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }

  YamlNode take() { return std::move(root_); }
  size_t byte(const YAML::Mark& mark) const {
    const auto line = source_.byte({static_cast<uint32_t>(std::max(mark.line, 0)) + 1, 1});
    return line ? *line + static_cast<size_t>(std::max(mark.column, 0)) : 0;
  }
  Location locate(const YAML::Mark& mark) const {
    if (mark.is_null()) return last_name_;
    Location out;
    out.file = file_;
    out.line = static_cast<uint32_t>(mark.line) + 1;
    out.column = static_cast<uint32_t>(mark.column) + 1;
    if (!ascii_) out.column = source_.place(byte(mark)).column;
    return out;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    ++documents_;
    start_ = locate(mark);
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    // A '---' at the end of the file starts nothing.
    if (documents_ > 1 && open_.empty()) return;
    check(mark, "?", anchor);
    YamlNode node;
    node.where = locate(mark);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check(mark, tag, anchor);
    check_quote(mark);
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.where = locate(mark);
    node.text = value;
    node.plain = tag == "?";
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlEntry> entry;  // of a map: its name is read, its value not
    std::map<std::string, Location> names;
    bool repeated = false;  // the name of `entry` stood before
  };

  [[noreturn]] void stop(const char* code, Location where, std::string what, std::string hint) {
    diagnostics_.error(code, std::move(where), std::move(what), std::move(hint));
    throw StopReading();
  }
  [[noreturn]] void refuse_anchor(const YAML::Mark& mark) {
    stop("E0104", locate(mark), std::string(kAnchorWhat), std::string(kAnchorHint));
  }

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (documents_ > 1)
      stop("E0108", start_.line > 0 ? start_ : locate(mark), "a second document starts here",
           "a route file is one list: remove the '---', or use several files");
    if (anchor != YAML::NullAnchor) refuse_anchor(mark);
    if (!tag.empty() && tag != "?" && tag != "!")
      stop("E0105", locate(mark), "tags (" + short_tag(tag) + ") are not supported",
           "remove the tag; put texts that start with ! into quotes");
    if (++nodes_ > kYamlNodesMax)
      stop("E0107", locate(mark), "the file has more than 100000 values",
           "split it into several files");
  }

  // yaml-cpp takes a text that is still open at the end of the file.
  void check_quote(const YAML::Mark& mark) {
    const size_t at = byte(mark);
    const bool quoted = at < text_.size() && (text_[at] == '"' || text_[at] == '\'');
    if (quoted && !read_scalar_text(text_, at).closed)
      stop("E0101", locate(mark), "no well-formed YAML: a quote is not closed",
           "add the missing quote at the end of the text");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    check(mark, tag, anchor);
    if (open_.size() >= kYamlDepthMax)
      stop("E0107", locate(mark), "the file is nested more than 100 levels deep",
           "move inner steps into routes of their own and call them by direct:");
    Open entry;
    entry.node.kind = kind;
    entry.node.where = locate(mark);
    open_.push_back(std::move(entry));
  }
  void close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_list()) {
      parent.node.items.push_back(std::move(node));
    } else if (parent.entry) {
      parent.entry->value = std::move(node);
      if (parent.entry->value.is_null()) parent.entry->value.where = parent.entry->name_where;
      if (!parent.repeated) parent.node.entries.push_back(std::move(*parent.entry));
      parent.entry.reset();
    } else {
      start_entry(parent, std::move(node));
    }
  }

  void start_entry(Open& parent, YamlNode name) {
    if (name.is_list() || name.is_map())
      stop("E0101", name.where, "no well-formed YAML: a name must be a text",
           "put a text with { or [ into quotes");
    last_name_ = name.where;
    parent.entry.emplace();
    parent.entry->name = std::move(name.text);
    parent.entry->name_where = name.where;
    const auto [first, fresh] = parent.names.emplace(parent.entry->name, parent.entry->name_where);
    parent.repeated = !fresh;
    if (parent.repeated)
      diagnostics_.error("E0106", name.where, "'" + parent.entry->name + "' is given twice",
                         "the first is at " + first->second.text());
  }

  std::string_view text_;
  SourceText source_;
  std::shared_ptr<const std::string> file_;
  Diagnostics& diagnostics_;
  bool ascii_ = false;
  size_t nodes_ = 0;
  size_t documents_ = 0;
  Location start_;
  Location last_name_;
  std::vector<Open> open_;
  YamlNode root_;
};

}  // namespace

const YamlNode* YamlNode::find(std::string_view name) const {
  for (const YamlEntry& entry : entries)
    if (entry.name == name) return &entry.value;
  return nullptr;
}

std::optional<YamlNode> parse_yaml(std::string_view text, std::shared_ptr<const std::string> file,
                                   Diagnostics& diagnostics) {
  YamlProblem problem;
  TreeBuilder builder(text, file, diagnostics);
  const auto report = [&] {
    const Place place = SourceText(text).place(problem.byte);
    diagnostics.error(problem.code, Location{file, place.line, place.column}, problem.what,
                      problem.hint);
    return std::nullopt;
  };
  if (!check_yaml_text(text, problem)) return report();
  try {
    std::istringstream input{std::string(text)};
    YAML::Parser parser(input);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const StopReading&) {
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    problem =
        explain_yaml_error(text, e.mark.is_null() ? text.size() : builder.byte(e.mark), e.msg);
    return report();
  } catch (const std::exception& e) {
    problem = {"E0101", 0, std::string("no well-formed YAML: ") + e.what(), ""};
    return report();
  }
  return builder.take();
}

Value to_value(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null: return Value();
    case YamlNode::Kind::scalar: {
      if (!node.plain) return Value(node.text);
      const Result<Value> typed = parse_json(node.text);
      return typed && !typed->is_list() && !typed->is_object() ? *typed : Value(node.text);
    }
    case YamlNode::Kind::list: {
      List list;
      for (const YamlNode& item : node.items) list.push_back(to_value(item));
      return Value(std::move(list));
    }
    case YamlNode::Kind::map: {
      Object object;
      for (const YamlEntry& entry : node.entries) object.append(entry.name, to_value(entry.value));
      return Value(std::move(object));
    }
  }
  return Value();
}

}  // namespace drom
