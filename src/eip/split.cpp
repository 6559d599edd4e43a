#include "eip/split.hpp"

#include "eip/fan_out.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// The pieces of one value, cut on demand. Keeps the value; the pieces are values of their own.
class Pieces {
 public:
  // An empty delimiter never cuts.
  Pieces(Value value, std::string_view delimiter)
      : value_(std::move(value)), delimiter_(delimiter) {
    list_ = value_.as_list();
    cuts_text_ = value_.is_text() || value_.is_bytes();
    if (cuts_text_ && !is_blank(value_.raw())) left_ = value_.raw();
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  size_t count() const {
    if (list_) return list_->size();
    if (!cuts_text_) return value_.is_null() ? 0 : 1;
    if (is_blank(value_.raw())) return 0;
    if (delimiter_.empty()) return 1;
    size_t out = 0;
    for (std::string_view rest = value_.raw(); !rest.empty(); ++out) cut(rest);
    return out;
  }
  // Only count() times.
  Value next() {
    if (list_) return (*list_)[taken_++];
    if (!cuts_text_) return value_;
    if (delimiter_.empty()) return value_;
    return Value(cut(left_));
  }

 private:
  // A delimiter at the end of the text ends the last piece and starts no other.
  std::string_view cut(std::string_view& rest) const {
    const size_t at = rest.find(delimiter_);
    const std::string_view piece = rest.substr(0, at);
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + delimiter_.size());
    return piece;
  }

  Value value_;
  std::string_view delimiter_;
  const List* list_ = nullptr;
  bool cuts_text_ = false;
  std::string_view left_;
  size_t taken_ = 0;
};

class SplitParts final : public PartSource {
 public:
  SplitParts(const Exchange& original, Pieces& pieces, AsyncProcessor& children, bool streaming)
      : original_(original),
        pieces_(pieces),
        children_(children),
        size_(pieces.count()),
        streaming_(streaming) {}

  size_t size() const override { return size_; }

  std::optional<Part> next() override {
    if (next_ == size_) return std::nullopt;
    Part part{original_.copy(), &children_};
    part.exchange.message.body = pieces_.next();
    Properties& properties = part.exchange.properties;
    properties.set("CamelSplitIndex", static_cast<int64_t>(next_));
    ++next_;
    const bool last = next_ == size_;
    properties.set("CamelSplitComplete", last);
    if (last || !streaming_) properties.set("CamelSplitSize", static_cast<int64_t>(size_));
    return part;
  }

 private:
  const Exchange& original_;
  Pieces& pieces_;
  AsyncProcessor& children_;
  const size_t size_;
  const bool streaming_;
  size_t next_ = 0;
};

class Split final : public AsyncProcessor {
 public:
  struct Options {
    ExpressionPtr expression;
    std::string delimiter;
    bool streaming = false;
    FanOutOptions fan_out;
  };
  Split(Options options, std::unique_ptr<Pipeline> children)
      : options_(std::move(options)), children_(std::move(children)) {}

  async<> run(Batch& batch, Scope& scope) override {
    const EvalScope eval = scope.eval();
    for (Exchange& exchange : batch) {
      Result<Value> value = options_.expression->evaluate(exchange, eval);
      if (!value) {
        exchange.fail(std::move(value.error()));
        continue;
      }
      Pieces pieces(std::move(*value), options_.delimiter);
      SplitParts parts(exchange, pieces, *children_, options_.streaming);
      co_await fan_out(exchange, parts, options_.fan_out, scope);
      exchange.properties.set("CamelSplitSize", static_cast<int64_t>(parts.size()));
    }
  }

 private:
  Options options_;
  std::unique_ptr<Pipeline> children_;
};

ConfigSpec split_spec() {
  ConfigSpec spec;
  spec.name = "split";
  spec.title = "Split";
  spec.doc =
      "Cuts a message into parts and runs its steps for each. The message that goes on after the "
      "block "
      "is the original one, or what `aggregationStrategy` makes of the parts. A part that fails "
      "fails "
      "the whole step after the others had their turn; with stopOnException, or inside a "
      "transaction, "
      "the first failure ends it. Parts carry the properties CamelSplitIndex, CamelSplitSize and "
      "CamelSplitComplete.";
  OptionSpec delimiter = option("delimiter", OptionType::text,
                                "Where texts are cut, literally; `false` leaves texts whole.", ",");
  delimiter.example = ";";
  spec.options = {
      required_option("expression", OptionType::expression,
                      "What is split: a list gives its elements, a text is cut at the delimiter."),
      std::move(delimiter),
      option("aggregationStrategy", OptionType::reference,
             "How the parts become one message: a registered strategy, or one of Camel's by class "
             "name."),
      option("streaming", OptionType::boolean,
             "Sets CamelSplitSize on the last part only, as Camel does; parts are always cut on "
             "demand.",
             "false"),
      option("parallelProcessing", OptionType::boolean,
             "Up to 20 parts are on their way at once; replies are still merged in order.",
             "false"),
      option("stopOnException", OptionType::boolean,
             "Ends at the first part that fails, without starting the others.", "false"),
      option("shareUnitOfWork", OptionType::boolean,
             "Accepted for Camel's sake; parts always share the unit of work of the message.",
             "false"),
  };
  spec.inline_expression = "expression";
  spec.steps = StepsRule::optional;
  spec.example =
      "- split:\n    jsonpath: \"$.items[*]\"\n    steps:\n      - log: \"item ${body}\"\n";
  return spec;
}

Step make_split(const StepSpec& spec, const Config& config, BuildContext& context) {
  Split::Options options;
  options.expression = config.expression("expression");
  options.delimiter = config.text("delimiter");
  if (options.delimiter == "false") options.delimiter.clear();
  options.streaming = config.flag("streaming");
  options.fan_out.parallel = config.flag("parallelProcessing");
  options.fan_out.stop_on_exception = config.flag("stopOnException");
  options.fan_out.merge = merge_rule(config, use_original(), context);
  std::unique_ptr<Pipeline> children = context.build_pipeline(spec.steps);
  if (!children || !options.expression || !options.fan_out.merge.strategy) return Step();
  return Step(std::make_unique<Split>(std::move(options), std::move(children)));
}

}  // namespace

void register_split(Registry& registry) { registry.add(StepInfo{"split", split_spec, make_split}); }

}  // namespace drom
