// A YAML text as a plain tree in which every node and every name knows its line and column. Only
// the YAML that route files need: anchors, aliases, tags and further documents are refused, and
// depth, size and number of nodes have limits. yaml-cpp stays behind this header. Load time, one
// thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/base/value.hpp"
#include "drom/config/location.hpp"

namespace drom {

inline constexpr size_t kYamlBytesMax = size_t{1} << 20;
inline constexpr size_t kYamlDepthMax = 100;
inline constexpr size_t kYamlNodesMax = 100'000;

struct YamlEntry;

struct YamlNode {
  enum class Kind : uint8_t { null, scalar, list, map };
  Kind kind = Kind::null;
  Location where;
  std::string text;                // scalar
  bool plain = false;              // scalar without quotes: 1 and true are no texts then
  std::vector<YamlNode> items;     // list
  std::vector<YamlEntry> entries;  // map, in the order written; names differ

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
  const YamlNode* find(std::string_view name) const;
};

struct YamlEntry {
  std::string name;
  Location name_where;
  YamlNode value;
};

// The node as data: plain scalars become numbers, booleans and null by JSON's spelling, others
// texts.
Value to_value(const YamlNode& node);

// nullopt: reported. An empty text is a null node.
std::optional<YamlNode> parse_yaml(std::string_view text, std::shared_ptr<const std::string> file,
                                   Diagnostics& diagnostics);

}  // namespace drom
