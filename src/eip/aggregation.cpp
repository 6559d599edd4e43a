#include "eip/aggregation.hpp"

#include <array>
#include <exception>

#include "spi/step_support.hpp"

namespace drom {
namespace {

// The latest error wins, as in Camel.
void carry_error(Exchange& to, Exchange& from) {
  if (!from.failed()) return;
  to.error_exhausted = from.error_exhausted;
  to.fail(std::move(*from.error));
}

Exchange latest(std::optional<Exchange> merged, Exchange part) {
  if (merged && !part.failed()) carry_error(part, *merged);
  return part;
}

Exchange errors_only(std::optional<Exchange> merged, Exchange part) {
  Exchange out = merged ? std::move(*merged) : Exchange();
  carry_error(out, part);
  return out;
}

Exchange grouped_body(std::optional<Exchange> merged, Exchange part) {
  if (!merged) {
    List bodies;
    bodies.push_back(std::move(part.message.body));
    part.message.body = Value(std::move(bodies));
    return part;
  }
  Exchange out = std::move(*merged);
  out.message.body.list().push_back(std::move(part.message.body));
  carry_error(out, part);
  return out;
}

Exchange joined_text(std::optional<Exchange> merged, Exchange part) {
  std::string text = part.message.body.to_text();
  if (!merged) {
    part.message.body = Value(std::move(text));
    return part;
  }
  Exchange out = std::move(*merged);
  out.message.body.text().append(text);
  carry_error(out, part);
  return out;
}

MergeRule make(Exchange (*function)(std::optional<Exchange>, Exchange)) {
  return {std::make_shared<const AggregationStrategy>(AggregationStrategy{function}), false};
}

constexpr std::array<std::string_view, 4> kBuiltIn = {
    "UseLatestAggregationStrategy", "UseOriginalAggregationStrategy",
    "GroupedBodyAggregationStrategy", "StringAggregationStrategy"};

MergeRule built_in(std::string_view name) {
  if (name == kBuiltIn[0]) return use_latest();
  if (name == kBuiltIn[1]) return use_original();
  if (name == kBuiltIn[2]) return make(grouped_body);
  if (name == kBuiltIn[3]) return make(joined_text);
  return {};
}

std::string_view class_name(std::string_view written) {
  if (written.substr(0, 7) == "#class:") written.remove_prefix(7);
  const size_t dot = written.rfind('.');
  return dot == std::string_view::npos ? written : written.substr(dot + 1);
}

}  // namespace

MergeRule use_latest() { return make(latest); }

MergeRule use_original() {
  MergeRule out = make(errors_only);
  out.keeps_original = true;
  return out;
}

MergeRule merge_rule(const Config& config, MergeRule fallback, BuildContext& context) {
  if (!config.has("aggregationStrategy")) return fallback;
  const std::string& written = config.text("aggregationStrategy");
  const std::string_view name = bean_name(written);
  // The registry outlives every plan, so that a pointer without ownership is enough.
  if (const auto* bean = context.registry().find<AggregationStrategy>(name))
    return {std::shared_ptr<const AggregationStrategy>(std::shared_ptr<void>(), bean), false};
  MergeRule out = built_in(class_name(written));
  if (out.strategy) return out;
  std::vector<std::string> known = context.registry().names<AggregationStrategy>();
  known.insert(known.end(), kBuiltIn.begin(), kBuiltIn.end());
  context.diagnostics().error("E0502", config.where("aggregationStrategy"),
                              "no aggregation strategy '" + written + "'",
                              did_you_mean(name, known));
  return {};
}

Result<Exchange> merge(const AggregationStrategy& strategy, std::optional<Exchange> merged,
                       Exchange part) {
  const auto threw = [](std::string_view what) {
    return Error(ErrorKind::bug, "the aggregation strategy threw: " + std::string(what));
  };
  try {
    return strategy.merge(std::move(merged), std::move(part));
  } catch (const std::exception& e) {
    return threw(e.what());
  } catch (...) {
    return threw("something that is no std::exception");
  }
}

}  // namespace drom
