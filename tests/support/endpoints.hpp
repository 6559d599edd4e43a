// Makes endpoints in unit tests the way the engine does: through the registry and a validated
// Config.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"

namespace drom::testing {

using Options = std::vector<std::pair<std::string, std::string>>;

// What the maker of `scheme` says to these options; problems of the Config itself become the error.
inline Result<std::unique_ptr<Endpoint>> try_endpoint(Harness& harness, const std::string& scheme,
                                                      const Options& options) {
  const ComponentInfo* info = harness.registry().component(scheme);
  DROM_ASSERT(info);
  std::vector<OptionText> texts;
  for (const auto& [name, text] : options) {
    OptionText option;
    option.name = name;
    option.text = text;
    texts.push_back(std::move(option));
  }
  Diagnostics problems;
  const Config config = Config::validate(info->spec(), texts, Location(), harness, problems);
  if (problems.has_errors()) return Error(ErrorKind::config, problems.items().front().what);
  return info->make(config, harness);
}

inline std::unique_ptr<Endpoint> make_endpoint(Harness& harness, const std::string& scheme,
                                               const Options& options) {
  Result<std::unique_ptr<Endpoint>> made = try_endpoint(harness, scheme, options);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message());
  return std::move(made).value();
}

inline void send(Harness& harness, AsyncProcessor& producer, Exchange& exchange) {
  Scope scope = harness.scope();
  harness.run(run_one(producer, exchange, scope));
}

}  // namespace drom::testing
