#include "engine/rest_contract.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "config/yaml_tree.hpp"
#include "drom/base/json.hpp"
#include "drom/spi/route_specs.hpp"

namespace drom {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kBytesMax = 10 * 1024 * 1024;
constexpr int kReferencesMax = 10;  // from one to the next

const Value* member(const Value* of, std::string_view name) {
  const Object* const object = of ? of->as_object() : nullptr;
  return object ? object->find(name) : nullptr;
}

std::string text_of(const Value* of, std::string_view name) {
  const Value* const value = member(of, name);
  return value && !value->is_null() && !value->is_list() && !value->is_object() ? value->to_text()
                                                                                : std::string();
}

// Beside the route file, else where the program was started.
std::string file_name(std::string name, const Location& where) {
  for (const std::string_view prefix : {"classpath:", "file:"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  if (!where.file || fs::path(name).is_absolute()) return name;
  const fs::path beside = fs::path(*where.file).parent_path() / name;
  std::error_code ignored;  // not there: the name as it stands is tried
  return fs::exists(beside, ignored) ? beside.string() : name;
}

class ContractReader {
 public:
  ContractReader(const Config& options, Diagnostics& diagnostics)
      : diagnostics_(diagnostics),
        where_(options.where("specification")),
        name_(options.text("specification")) {}

  std::optional<RestContract> read() {
    std::optional<Value> document = load();
    if (!document) return std::nullopt;
    out_.document = std::move(*document);
    if (!text_of(&out_.document, "openapi").starts_with("3.")) {
      fail("is no OpenAPI 3 document", "its member `openapi` must begin with 3");
      return std::nullopt;
    }
    out_.rest = std::make_unique<StepSpec>();
    out_.rest->name = "rest";
    out_.rest->where = where_;
    out_.base_path = server_path();
    const Value* const paths = member(&out_.document, "paths");
    if (paths && paths->is_object())
      for (const auto& [path, item] : *paths->as_object()) read_path(path, item);
    return std::move(out_);
  }

 private:
  void fail(const std::string& what, std::string hint) {
    diagnostics_.error("E0319", where_, "the specification '" + name_ + "' " + what,
                       std::move(hint));
  }

  std::optional<Value> load() {
    const std::string file = file_name(name_, where_);
    std::error_code error;
    const uintmax_t size = fs::file_size(file, error);
    std::ifstream in(file, std::ios::binary);
    if (error || !in) {
      fail("cannot be read", "the path is taken from the folder of the route file");
      return std::nullopt;
    }
    if (size > kBytesMax) {
      fail("is too large", "it may have 10 MB");
      return std::nullopt;
    }
    std::stringstream text;
    text << in.rdbuf();
    return parse(text.str(), file);
  }

  std::optional<Value> parse(const std::string& text, const std::string& file) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] != '{') {
      diagnostics_.add_source(file, text);
      const auto root = parse_yaml(text, std::make_shared<const std::string>(file), diagnostics_);
      return root ? std::optional(to_value(*root)) : std::nullopt;
    }
    Result<Value> document = parse_json(text);
    if (document) return std::move(*document);
    fail("is no JSON: " + document.error().what, "");
    return std::nullopt;
  }

  // "https://example.com/v1" and "/v1" -> "/v1".
  std::string server_path() const {
    const Value* const servers = member(&out_.document, "servers");
    const List* const list = servers ? servers->as_list() : nullptr;
    if (!list || list->empty()) return {};
    std::string url = text_of(&list->front(), "url");
    const size_t scheme = url.find("://");
    if (scheme != std::string::npos) {
      const size_t slash = url.find('/', scheme + 3);
      url = slash == std::string::npos ? "" : url.substr(slash);
    }
    return url.find('{') == std::string::npos ? url : "";
  }

  // Follows "#/components/parameters/x".
  const Value* resolve(const Value* value) const {
    for (int i = 0; i < kReferencesMax; ++i) {
      const std::string reference = text_of(value, "$ref");
      if (!reference.starts_with("#/")) return value;
      value = &out_.document;
      std::string_view rest = std::string_view(reference).substr(2);
      while (value && !rest.empty()) {
        const size_t slash = std::min(rest.find('/'), rest.size());
        value = member(value, rest.substr(0, slash));
        rest.remove_prefix(std::min(slash + 1, rest.size()));
      }
    }
    return nullptr;
  }

  void read_path(const std::string& path, const Value& item) {
    const Object* const operations = item.as_object();
    if (!operations) return;
    const auto& verbs = rest_verbs();
    for (const auto& [verb, operation] : *operations)
      if (std::ranges::find(verbs, verb) != verbs.end())
        read_operation(path, verb, item, operation);
  }

  void read_operation(const std::string& path, const std::string& verb, const Value& item,
                      const Value& operation) {
    const std::string id = text_of(&operation, "operationId");
    if (id.empty()) {
      fail("has no operationId for " + verb + " " + path, "routes are found by it: direct:ID");
      return;
    }
    StepSpec out = node(verb);
    set(out, "path", path);
    set(out, "id", id);
    const Value* const body = resolve(member(&operation, "requestBody"));
    set(out, "consumes", media_types(member(body, "content")));
    set(out, "produces", produced(member(&operation, "responses")));
    const Value* const own = member(&operation, "parameters");
    add_params(out, member(&item, "parameters"), own);
    add_params(out, own, nullptr);
    if (body) {
      StepSpec param = node("param");
      set(param, "name", "body");
      set(param, "type", "body");
      set(param, "required", text_of(body, "required") == "true" ? "true" : "false");
      out.clauses.push_back(std::move(param));
    }
    StepSpec to = node("to");
    set(to, "uri", "direct:" + id);
    out.clauses.push_back(std::move(to));
    out_.rest->clauses.push_back(std::move(out));
  }

  // Those of `stronger` replace those of the same name and kind.
  void add_params(StepSpec& out, const Value* params, const Value* stronger) {
    const List* const list = params ? params->as_list() : nullptr;
    if (!list) return;
    for (const Value& written : *list) {
      const Value* const param = resolve(&written);
      const std::string kind = text_of(param, "in");
      if (kind != "query" && kind != "header" && kind != "path") continue;
      if (has_param(stronger, text_of(param, "name"), kind)) continue;
      StepSpec clause = node("param");
      set(clause, "name", text_of(param, "name"));
      set(clause, "type", kind);
      set(clause, "required", text_of(param, "required") == "true" ? "true" : "false");
      const Value* const schema = resolve(member(param, "schema"));
      set(clause, "defaultValue", text_of(schema, "default"));
      add_allowed(clause, member(schema, "enum"));
      out.clauses.push_back(std::move(clause));
    }
  }

  bool has_param(const Value* params, const std::string& name, const std::string& kind) const {
    const List* const list = params ? params->as_list() : nullptr;
    return list && std::ranges::any_of(*list, [&](const Value& written) {
             const Value* const param = resolve(&written);
             return text_of(param, "name") == name && text_of(param, "in") == kind;
           });
  }

  void add_allowed(StepSpec& param, const Value* values) {
    const List* const list = values ? values->as_list() : nullptr;
    if (!list) return;
    for (const Value& value : *list) {
      StepSpec one = node("allowableValues");
      set(one, "value", value.to_text());
      param.clauses.push_back(std::move(one));
    }
  }

  static std::string media_types(const Value* content) {
    std::string out;
    const Object* const types = content ? content->as_object() : nullptr;
    if (!types) return out;
    for (const auto& [type, schema] : *types) out += (out.empty() ? "" : ",") + type;
    return out;
  }

  // Of the answers that are no failures.
  std::string produced(const Value* responses) const {
    const Object* const all = responses ? responses->as_object() : nullptr;
    if (!all) return {};
    for (const auto& [status, response] : *all) {
      const std::string types = media_types(member(resolve(&response), "content"));
      if (status.starts_with('2') && !types.empty()) return types;
    }
    return {};
  }

  StepSpec node(std::string name) const {
    StepSpec out;
    out.name = std::move(name);
    out.where = where_;
    return out;
  }

  void set(StepSpec& out, std::string name, std::string text) const {
    if (text.empty()) return;
    OptionText option;
    option.name = std::move(name);
    option.text = std::move(text);
    option.where = where_;
    out.options.push_back(std::move(option));
  }

  Diagnostics& diagnostics_;
  Location where_;
  std::string name_;
  RestContract out_;
};

}  // namespace

std::optional<RestContract> read_contract(const Config& options, Diagnostics& diagnostics) {
  return ContractReader(options, diagnostics).read();
}

}  // namespace drom
