#include "expr/basic_nodes.hpp"

#include <algorithm>

#include "expr/compare.hpp"

namespace drom::expr {

Result<bool> Node::test(Frame& frame) const {
  Result<Operand> value = evaluate(frame);
  if (!value) return std::move(value.error());
  return is_truthy(value->get());
}

namespace {

bool any_reads_body(const Nodes& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodePtr& node) { return node->reads_body(); });
}

class Literal final : public Node {
 public:
  explicit Literal(Value value) : value_(std::move(value)) {}
  Result<Operand> evaluate(Frame&) const override { return Operand::borrow(&value_); }
  const Value* constant() const override { return &value_; }
  bool reads_body() const override { return false; }

 private:
  Value value_;
};

class Template final : public Node {
 public:
  explicit Template(Nodes parts) : parts_(std::move(parts)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    std::string out;
    for (const NodePtr& part : parts_) {
      Result<Operand> value = part->evaluate(frame);
      if (!value) return value;
      const Value& v = value->get();
      if (v.is_text() || v.is_bytes()) {
        out += v.raw();
      } else {
        out += v.to_text();
      }
    }
    return Operand(Value(std::move(out)));
  }
  bool reads_body() const override { return any_reads_body(parts_); }

 private:
  Nodes parts_;
};

class LogicNode final : public Node {
 public:
  LogicNode(Nodes operands, std::vector<Logic> operators)
      : operands_(std::move(operands)), operators_(std::move(operators)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<bool> answer = test(frame);
    if (!answer) return std::move(answer.error());
    return Operand(Value(*answer));
  }
  Result<bool> test(Frame& frame) const override {
    Result<bool> answer = operands_[0]->test(frame);
    for (size_t i = 0; i < operators_.size() && answer; ++i) {
      // The operand is not looked at when it cannot change the answer.
      if (*answer == (operators_[i] == Logic::both)) answer = operands_[i + 1]->test(frame);
    }
    return answer;
  }
  bool reads_body() const override { return any_reads_body(operands_); }

 private:
  Nodes operands_;
  std::vector<Logic> operators_;
};

class Not final : public Node {
 public:
  explicit Not(NodePtr operand) : operand_(std::move(operand)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<bool> answer = test(frame);
    if (!answer) return std::move(answer.error());
    return Operand(Value(*answer));
  }
  Result<bool> test(Frame& frame) const override {
    Result<bool> answer = operand_->test(frame);
    if (!answer) return answer;
    return !*answer;
  }
  bool reads_body() const override { return operand_->reads_body(); }

 private:
  NodePtr operand_;
};

class Step final : public Node {
 public:
  Step(NodePtr operand, int64_t by) : operand_(std::move(operand)), by_(by) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<Operand> value = operand_->evaluate(frame);
    if (!value) return value;
    const Value& v = value->get();
    if (const auto whole = v.to_int()) {
      int64_t out = 0;
      if (__builtin_add_overflow(*whole, by_, &out))
        return data_error("the number " + v.to_text() + " cannot be counted further");
      return Operand(Value(out));
    }
    if (const auto real = v.to_double()) return Operand(Value(*real + static_cast<double>(by_)));
    return data_error("++ and -- need a number, not a " + std::string(to_string(v.kind())));
  }

 private:
  NodePtr operand_;
  int64_t by_;
};

class Ternary final : public Node {
 public:
  Ternary(NodePtr condition, NodePtr yes, NodePtr no)
      : condition_(std::move(condition)), yes_(std::move(yes)), no_(std::move(no)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<bool> answer = condition_->test(frame);
    if (!answer) return std::move(answer.error());
    return (*answer ? yes_ : no_)->evaluate(frame);
  }

 private:
  NodePtr condition_, yes_, no_;
};

class Elvis final : public Node {
 public:
  Elvis(NodePtr left, NodePtr right) : left_(std::move(left)), right_(std::move(right)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<Operand> value = left_->evaluate(frame);
    if (!value || has_effect(value->get())) return value;
    return right_->evaluate(frame);
  }

 private:
  static bool has_effect(const Value& value) {
    if (!is_truthy(value)) return false;
    if (value.is_number()) return compare_numbers(value.to_text(), "0") != 0;
    if (!value.is_text() && !value.is_bytes()) return true;
    const std::string_view text = value.raw();
    if (is_numeric(text)) return compare_numbers(text, "0") != 0;
    return text.find_first_not_of(" \t\r\n") != std::string_view::npos;
  }

  NodePtr left_, right_;
};

class Chain final : public Node {
 public:
  explicit Chain(std::vector<ChainLink> links) : links_(std::move(links)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<Operand> value = links_[0].node->evaluate(frame);
    for (size_t i = 1; i < links_.size() && value; ++i) {
      if (links_[i].null_safe && value->get().is_null()) break;
      const Value body = std::move(*value).take();
      Frame inner(frame.exchange, frame.scope, body);
      Result<Operand> next = links_[i].node->evaluate(inner);
      // A borrowed result may point into the body that dies here.
      if (next && next->borrowed()) next = Operand(Value(next->get()));
      value = std::move(next);
    }
    return value;
  }

 private:
  std::vector<ChainLink> links_;
};

class Conversion final : public Node {
 public:
  Conversion(NodePtr operand, TypeName type, bool mandatory, std::string what)
      : operand_(std::move(operand)), type_(type), mandatory_(mandatory), what_(std::move(what)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<Operand> value = operand_->evaluate(frame);
    if (!value || is_instance(value->get(), type_)) return value;
    if (value->get().is_null() && mandatory_) return data_error(what_ + ": the value is null");
    Result<Value> out = convert(value->get(), type_);
    if (!out) {
      out.error().what = what_ + ": " + out.error().what;
      return std::move(out.error());
    }
    return Operand(std::move(*out));
  }

 private:
  NodePtr operand_;
  TypeName type_;
  bool mandatory_;
  std::string what_;
};

}  // namespace

NodePtr make_literal(Value value) { return std::make_unique<Literal>(std::move(value)); }

NodePtr make_template(Nodes parts) { return std::make_unique<Template>(std::move(parts)); }

NodePtr make_logic(Nodes operands, std::vector<Logic> operators) {
  return std::make_unique<LogicNode>(std::move(operands), std::move(operators));
}

NodePtr make_not(NodePtr operand) { return std::make_unique<Not>(std::move(operand)); }

NodePtr make_step(NodePtr operand, int64_t by) {
  return std::make_unique<Step>(std::move(operand), by);
}

NodePtr make_ternary(NodePtr condition, NodePtr yes, NodePtr no) {
  return std::make_unique<Ternary>(std::move(condition), std::move(yes), std::move(no));
}

NodePtr make_elvis(NodePtr left, NodePtr right) {
  return std::make_unique<Elvis>(std::move(left), std::move(right));
}

NodePtr make_chain(std::vector<ChainLink> links) {
  return std::make_unique<Chain>(std::move(links));
}

NodePtr make_conversion(NodePtr operand, TypeName type, bool mandatory, std::string what) {
  return std::make_unique<Conversion>(std::move(operand), type, mandatory, std::move(what));
}

}  // namespace drom::expr
