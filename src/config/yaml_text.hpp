// What is wrong with a text before it is looked at as YAML: its encoding and its size. And what to
// say when yaml-cpp cannot read it.
#pragma once

#include <string>
#include <string_view>

#include "config/source_text.hpp"
#include "drom/config/location.hpp"

namespace drom {

struct YamlProblem {
  std::string code;
  size_t byte = 0;  // where in the text
  std::string what;
  std::string hint;
};

inline constexpr std::string_view kAnchorWhat = "anchors and aliases (& and *) are not supported";
inline constexpr std::string_view kAnchorHint =
    "write the part out, or use a routeConfiguration or a placeholder; put texts that start with * "
    "or & into "
    "quotes";

// False: `problem` says what.
bool check_yaml_text(std::string_view text, YamlProblem& problem);

// Puts yaml-cpp's words into ours. `byte` is where it gave up.
YamlProblem explain_yaml_error(std::string_view text, size_t byte, const std::string& message);

}  // namespace drom
