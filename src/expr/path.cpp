#include "expr/path.hpp"

#include <algorithm>

#include "drom/base/json.hpp"
#include "expr/methods.hpp"

namespace drom::expr {
namespace {

bool holds_text(const Value& value) { return value.is_text() || value.is_bytes(); }

bool looks_like_json(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  return start != std::string_view::npos && (text[start] == '{' || text[start] == '[');
}

// Takes a part out of a value that is owned here: copies it (cheap) before the whole goes away.
Operand part_of(const Operand& whole, const Value* part) {
  return whole.borrowed() || !part ? Operand::borrow(part) : Operand(Value(*part));
}

Operand at_key(const Operand& value, std::string_view key) {
  const Object* object = value->as_object();
  return part_of(value, object ? object->find(key) : nullptr);
}

Operand at_index(const Operand& value, size_t index) {
  const List* list = value->as_list();
  return part_of(value, list && index < list->size() ? &(*list)[index] : nullptr);
}

class Follower {
 public:
  Follower(Frame& frame, Operand value) : frame_(frame), value_(std::move(value)) {}

  Result<Operand> run(const Path& path, size_t from) {
    for (size_t i = from; i < path.size(); ++i) {
      if (value_->is_null()) return Operand(Value());
      Result<Operand> next = step(path[i]);
      if (!next) return next;
      value_ = std::move(*next);
    }
    return std::move(value_);
  }

 private:
  Result<Operand> step(const PathStep& step) {
    if (step.kind == PathStep::Kind::method) return call(*step.method, step.arguments);
    const bool plain_text = holds_text(value_.get()) && !looks_like_json(value_->raw());
    if (plain_text) {
      if (step.kind == PathStep::Kind::field && step.method)
        return call(*step.method, step.arguments);
      return data_error("the text is no JSON, so it has no " + describe(step));
    }
    Operand document = std::move(value_);
    if (holds_text(document.get())) {
      Result<Operand> parsed = document_of(frame_, document);
      if (!parsed) return parsed;
      // `length` of a JSON text without such a field is the length of the text.
      const bool absent = parsed->get().is_object() && !parsed->get().as_object()->find(step.name);
      if (step.kind == PathStep::Kind::field && step.method && absent) {
        value_ = std::move(document);
        return call(*step.method, step.arguments);
      }
      document = std::move(*parsed);
    }
    value_ = std::move(document);
    return member(step);
  }

  Result<Operand> member(const PathStep& step) {
    switch (step.kind) {
      case PathStep::Kind::index:
        return value_->is_object() ? at_key(value_, step.name) : at_index(value_, step.index);
      case PathStep::Kind::last: {
        const List* list = value_->as_list();
        if (!list) return at_key(value_, step.name);
        return list->size() > step.index ? at_index(value_, list->size() - 1 - step.index)
                                         : Operand(Value());
      }
      case PathStep::Kind::key: return computed(*step.key);
      default: break;
    }
    // A field of that name wins over a method without parentheses.
    const Object* object = value_->as_object();
    if (step.method && !(object && object->find(step.name)))
      return call(*step.method, step.arguments);
    return at_key(value_, step.name);
  }

  Result<Operand> computed(const Node& key_node) {
    const Result<Operand> key = key_node.evaluate(frame_);
    if (!key) return key.error();
    if (value_->is_object()) return at_key(value_, key->get().to_text());
    const auto index = key->get().to_int();
    return index && *index >= 0 ? at_index(value_, static_cast<size_t>(*index)) : Operand(Value());
  }

  Result<Operand> call(const Method& method, const Nodes& nodes) {
    std::vector<Value> arguments;
    for (const NodePtr& node : nodes) {
      Result<Operand> argument = node->evaluate(frame_);
      if (!argument) return argument;
      arguments.push_back(std::move(*argument).take());
    }
    Result<Value> out = method.call(value_.get(), arguments);
    if (!out) return std::move(out.error());
    return Operand(std::move(*out));
  }

  static std::string describe(const PathStep& step) {
    switch (step.kind) {
      case PathStep::Kind::index: return "element [" + std::to_string(step.index) + "]";
      case PathStep::Kind::last: return "element [last]";
      case PathStep::Kind::key: return "computed field";
      default: return "field '" + step.name + "'";
    }
  }

  Frame& frame_;
  Operand value_;
};

class PathNode final : public Node {
 public:
  PathNode(NodePtr base, Path path) : base_(std::move(base)), path_(std::move(path)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<Operand> value = base_->evaluate(frame);
    if (!value) return value;
    return follow(frame, std::move(*value), path_);
  }
  bool reads_body() const override { return base_->reads_body() || expr::reads_body(path_); }

 private:
  NodePtr base_;
  Path path_;
};

}  // namespace

bool reads_body(const Path& path) {
  const auto reads = [](const NodePtr& node) { return node && node->reads_body(); };
  return std::any_of(path.begin(), path.end(), [&](const PathStep& step) {
    return reads(step.key) || std::any_of(step.arguments.begin(), step.arguments.end(), reads);
  });
}

Result<Operand> document_of(Frame& frame, Operand value) {
  if (!holds_text(value.get())) return value;
  const bool is_body = &value.get() == &frame.body;
  if (is_body && frame.parsed_body) return Operand::borrow(&*frame.parsed_body);
  Result<Value> parsed = parse_json(value->raw());
  if (!parsed) return std::move(parsed.error());
  if (!is_body) return Operand(std::move(*parsed));
  frame.parsed_body = std::move(*parsed);
  return Operand::borrow(&*frame.parsed_body);
}

Result<Operand> follow(Frame& frame, Operand value, const Path& path, size_t from) {
  return Follower(frame, std::move(value)).run(path, from);
}

NodePtr make_path(NodePtr base, Path path) {
  if (path.empty()) return base;
  return std::make_unique<PathNode>(std::move(base), std::move(path));
}

}  // namespace drom::expr
