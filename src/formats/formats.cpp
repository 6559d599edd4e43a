#include "formats/formats.hpp"

#include "formats/json_format.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

using FormatPtr = std::unique_ptr<DataFormat>;

class Marshal final : public Processor {
 public:
  explicit Marshal(FormatPtr format) : format_(std::move(format)) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      Result<Value> written = format_->marshal(exchange.message.body);
      if (!written) {
        exchange.fail(std::move(written.error()));
        continue;
      }
      exchange.message.body = std::move(*written);
      if (!format_->content_type().empty())
        exchange.message.headers.set("Content-Type", format_->content_type());
    }
  }

 private:
  FormatPtr format_;
};

// A body that cannot be read stays as it was: the error handler gets the original bytes.
class Unmarshal final : public Processor {
 public:
  Unmarshal(FormatPtr format, bool allow_null)
      : format_(std::move(format)), allow_null_(allow_null) {}
  void run(Batch& batch, Scope&) override {
    for (Exchange& exchange : batch) {
      Value& body = exchange.message.body;
      if (body.is_null()) {
        if (!allow_null_)
          exchange.fail(Error(ErrorKind::data, "there is no body to unmarshal",
                              "set allowNullBody: true if that is fine"));
        continue;
      }
      Result<Value> read = format_->unmarshal(body);
      if (read.ok()) {
        body = std::move(*read);
      } else {
        exchange.fail(std::move(read.error()));
      }
    }
  }

 private:
  FormatPtr format_;
  bool allow_null_;
};

ConfigSpec marshal_spec() {
  ConfigSpec spec;
  spec.name = "marshal";
  spec.title = "Marshal";
  spec.doc = "Writes the body in a data format, so that it can be sent.";
  spec.clauses = {json_format_spec()};
  spec.example = "- marshal:\n    json: {}\n";
  return spec;
}

ConfigSpec unmarshal_spec() {
  ConfigSpec spec;
  spec.name = "unmarshal";
  spec.title = "Unmarshal";
  spec.doc =
      "Reads the body by a data format into values that expressions can look into. What cannot be "
      "read "
      "fails with kind data, and the body keeps its original bytes.";
  spec.options = {
      option("allowNullBody", OptionType::boolean, "An empty body is no error.", "false")};
  spec.clauses = {json_format_spec()};
  spec.example = "- unmarshal:\n    json: {}\n";
  return spec;
}

// Null: reported.
FormatPtr make_format(const StepSpec& spec, BuildContext& context) {
  if (spec.clauses.size() != 1) {
    context.diagnostics().error("E0503", spec.where, spec.name + " needs exactly one data format",
                                "write `json: {}`");
    return nullptr;
  }
  const Config config = clause_config(json_format_spec(), spec.clauses.front(), context);
  return make_json_format(config, context);
}

Step make_marshal(const StepSpec& spec, const Config&, BuildContext& context) {
  FormatPtr format = make_format(spec, context);
  return format ? Step(std::make_unique<Marshal>(std::move(format))) : Step();
}
Step make_unmarshal(const StepSpec& spec, const Config& config, BuildContext& context) {
  FormatPtr format = make_format(spec, context);
  return format ? Step(std::make_unique<Unmarshal>(std::move(format), config.flag("allowNullBody")))
                : Step();
}

}  // namespace

void register_formats(Registry& registry) {
  registry.add(StepInfo{"marshal", marshal_spec, make_marshal});
  registry.add(StepInfo{"unmarshal", unmarshal_spec, make_unmarshal});
}

}  // namespace drom
