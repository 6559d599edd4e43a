// The properties behind {{key}}: -D pairs first, then application.properties in the order in which
// the files were read, then the environment (KEY_NAME for key.name). Filled at load time by one
// thread, afterwards read by any.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/config/config.hpp"

namespace drom {

class PropertyTable final : public PropertySource {
 public:
  using Environment = std::function<std::optional<std::string>(std::string_view name)>;

  // Reading the process environment is the caller's business; an empty function has none.
  explicit PropertyTable(Environment environment = {});

  void define(std::string name, std::string value);  // -D; the last one wins
  // Adds what a .properties text defines and no file before it has. What cannot be read is reported
  // with its place in `file`.
  void read(std::string_view text, const std::string& file, Diagnostics& diagnostics);

  std::optional<std::string> property(std::string_view key) const override;
  // Exactly as written, else in capitals with `_` for other signs.
  std::optional<std::string> environment(std::string_view name) const override;
  std::vector<std::string> names() const;  // all but the environment

 private:
  Environment environment_;
  std::map<std::string, std::string, std::less<>> defines_;
  std::map<std::string, std::string, std::less<>> files_;
};

struct PropertyEntry {
  std::string name;
  std::string value;
  uint32_t line = 0;
};

// Java's .properties format: `name = value`, `name: value`, `name value`, comments by # and !,
// lines continued by a backslash, escapes \t \n \r \f \uXXXX. UTF-8.
std::vector<PropertyEntry> parse_properties(std::string_view text, const std::string& file,
                                            Diagnostics& diagnostics);

}  // namespace drom
