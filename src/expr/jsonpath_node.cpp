#include "expr/jsonpath_node.hpp"

#include "expr/path.hpp"

namespace drom::expr {
namespace {

class JsonPathNode final : public Node {
 public:
  JsonPathNode(NodePtr input, JsonPath path) : input_(std::move(input)), path_(std::move(path)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    Result<Operand> input = input_->evaluate(frame);
    if (!input || input->get().is_null()) return input;
    const Result<Operand> document = document_of(frame, std::move(*input));
    if (!document) return document.error();
    Result<Value> found = path_.evaluate(document->get());
    if (!found) return std::move(found.error());
    return Operand(std::move(*found));
  }

 private:
  NodePtr input_;
  JsonPath path_;
};

}  // namespace

NodePtr make_jsonpath(NodePtr input, JsonPath path) {
  return std::make_unique<JsonPathNode>(std::move(input), std::move(path));
}

}  // namespace drom::expr
