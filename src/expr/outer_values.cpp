#include "expr/outer_values.hpp"

#include "expr/text_case.hpp"

namespace drom::expr {
namespace {

class Property final : public Node {
 public:
  Property(std::string key, std::optional<std::string> default_value)
      : key_(std::move(key)), default_(std::move(default_value)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    if (std::optional<std::string> value = frame.scope.env.property(key_))
      return Operand(Value(std::move(*value)));
    if (default_) return Operand(Value(*default_));
    return data_error("the property '" + key_ + "' is not defined",
                      "define it, or give a default: ${properties:" + key_ + ":default}");
  }

 private:
  std::string key_;
  std::optional<std::string> default_;
};

class PropertyExists final : public Node {
 public:
  explicit PropertyExists(std::string key)
      : negated_(key.starts_with('!')), key_(key.substr(negated_ ? 1 : 0)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    return Operand(Value(frame.scope.env.property(key_).has_value() != negated_));
  }

 private:
  bool negated_;
  std::string key_;
};

class Environment final : public Node {
 public:
  explicit Environment(std::string name) : name_(std::move(name)), upper_(to_upper(name_)) {
    for (char& c : upper_)
      if (c == '.' || c == '-') c = '_';
  }
  Result<Operand> evaluate(Frame& frame) const override {
    std::optional<std::string> value = frame.scope.env.environment(name_);
    if (!value) value = frame.scope.env.environment(upper_);
    return Operand(value ? Value(std::move(*value)) : Value());
  }

 private:
  std::string name_, upper_;
};

class SystemProperty final : public Node {
 public:
  explicit SystemProperty(std::string key) : key_(std::move(key)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    std::optional<std::string> value = frame.scope.env.property(key_);
    return Operand(value ? Value(std::move(*value)) : Value());
  }

 private:
  std::string key_;
};

std::string_view only_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

std::string_view folder(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Camel takes the longest extension ("a.tar.gz": tar.gz) unless `single` is asked for.
size_t extension_dot(std::string_view name, bool single) {
  const size_t start = name.size() - only_name(name).size();
  return single ? name.substr(start).rfind('.') == std::string_view::npos ? std::string_view::npos
                                                                          : name.rfind('.')
                : name.find('.', start);
}

std::string_view extension(std::string_view name, bool single) {
  const size_t dot = extension_dot(name, single);
  return dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}
std::string_view without_extension(std::string_view name, bool single) {
  return name.substr(0, extension_dot(name, single));
}

std::string_view whole(std::string_view name) { return name; }
std::string_view name_noext(std::string_view name) { return without_extension(name, false); }
std::string_view name_noext_single(std::string_view name) { return without_extension(name, true); }
std::string_view name_ext(std::string_view name) { return extension(name, false); }
std::string_view name_ext_single(std::string_view name) { return extension(name, true); }
std::string_view only_noext(std::string_view name) {
  return without_extension(only_name(name), false);
}
std::string_view only_noext_single(std::string_view name) {
  return without_extension(only_name(name), true);
}

struct FilePart {
  std::string_view part;
  std::string_view header;
  std::string_view (*read)(std::string_view);  // null: the header as it is
};
constexpr FilePart kFileParts[] = {
    {"name", "CamelFileName", whole},
    {"name.noext", "CamelFileName", name_noext},
    {"name.noext.single", "CamelFileName", name_noext_single},
    {"name.ext", "CamelFileName", name_ext},
    {"name.ext.single", "CamelFileName", name_ext_single},
    {"ext", "CamelFileName", name_ext},
    {"onlyname", "CamelFileName", only_name},
    {"onlyname.noext", "CamelFileName", only_noext},
    {"onlyname.noext.single", "CamelFileName", only_noext_single},
    {"parent", "CamelFilePath", folder},
    {"path", "CamelFilePath", whole},
    {"absolute.path", "CamelFileAbsolutePath", whole},
    {"length", "CamelFileLength", nullptr},
    {"size", "CamelFileLength", nullptr},
    {"modified", "CamelFileLastModified", nullptr},
};

class File final : public Node {
 public:
  explicit File(const FilePart& part) : part_(part) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Value* value = frame.exchange.message.headers.find(part_.header);
    if (!value || value->is_null() || !part_.read) return Operand::borrow(value);
    return Operand(Value(part_.read(value->to_text())));
  }

 private:
  const FilePart& part_;  // in a constant table
};

}  // namespace

NodePtr make_property(std::string key, std::optional<std::string> default_value) {
  return std::make_unique<Property>(std::move(key), std::move(default_value));
}
NodePtr make_property_exists(std::string key) {
  return std::make_unique<PropertyExists>(std::move(key));
}
NodePtr make_environment(std::string name) {
  return std::make_unique<Environment>(std::move(name));
}
NodePtr make_system_property(std::string key) {
  return std::make_unique<SystemProperty>(std::move(key));
}

NodePtr make_file_part(std::string_view part) {
  for (const FilePart& known : kFileParts)
    if (known.part == part) return std::make_unique<File>(known);
  return nullptr;
}

std::vector<std::string_view> file_parts() {
  std::vector<std::string_view> out;
  for (const FilePart& known : kFileParts) out.push_back(known.part);
  return out;
}

}  // namespace drom::expr
