#include "connectors/http/router.hpp"

namespace drom::http {
namespace {

constexpr size_t kSegmentsMax = 64;

// "/a//b/" -> "a", "", "b": one trailing slash means nothing, an empty segment elsewhere does.
std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> out;
  if (path.starts_with('/')) path.remove_prefix(1);
  if (path.ends_with('/')) path.remove_suffix(1);
  if (path.empty()) return out;
  while (true) {
    const size_t slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

// One lookup: the segments of the path, the parameter values on the way down, and the best answer.
struct Router::Walk {
  std::vector<std::string> segments;
  std::vector<size_t> taken;  // segments that stand for parameters
  Method method = Method::unknown;
  Match match;
};

Result<void> Router::add(std::string_view path, bool prefix, MethodSet methods,
                         std::shared_ptr<Route> route) {
  Node* node = &root_;
  std::vector<std::string> names;
  const std::vector<std::string_view> segments = split(path);
  if (segments.size() > kSegmentsMax)
    return Error(ErrorKind::config, "the path '" + std::string(path) + "' has too many segments");
  for (const std::string_view segment : segments) {
    const bool parameter = segment.starts_with('{') && segment.ends_with('}') && segment.size() > 2;
    if (parameter) {
      names.emplace_back(segment.substr(1, segment.size() - 2));
      if (!node->parameter) node->parameter = std::make_unique<Node>();
      node = node->parameter.get();
    } else if (segment.empty() || segment.find_first_of("{}") != std::string_view::npos) {
      return Error(ErrorKind::config, "the path '" + std::string(path) + "' is no path template",
                   "write segments as /name or /{parameter}");
    } else {
      std::unique_ptr<Node>& next = node->literals[std::string(segment)];
      if (!next) next = std::make_unique<Node>();
      node = next.get();
    }
  }
  for (const Entry& entry : node->entries)
    if (entry.prefix == prefix && entry.methods.meets(methods))
      return Error(
          ErrorKind::config,
          "two routes serve " + methods.text() + " of the path '" + std::string(path) + "'",
          "give each route its own path or httpMethodRestrict");
  node->entries.push_back(Entry{std::move(route), methods, std::move(names), prefix});
  return {};
}

void Router::remove_from(Node& node, const Route* route) {
  std::erase_if(node.entries, [&](const Entry& entry) { return entry.route.get() == route; });
  for (auto& [name, child] : node.literals) remove_from(*child, route);
  if (node.parameter) remove_from(*node.parameter, route);
}

void Router::remove(const Route* route) { remove_from(root_, route); }

Router::Match Router::find(std::string_view path, Method method) const {
  Walk walk;
  walk.method = method;
  const std::vector<std::string_view> raw = split(path);
  if (raw.size() > kSegmentsMax) return std::move(walk.match);
  walk.segments.reserve(raw.size());
  for (const std::string_view segment : raw) {
    // Split first, decode then: an escaped slash is part of its segment.
    std::optional<std::string> text = percent_decode(segment, false);
    if (!text || *text == "." || *text == "..") {
      walk.match.answer = Answer::bad_path;
      return std::move(walk.match);
    }
    walk.segments.push_back(std::move(*text));
  }
  look(root_, 0, walk);
  return std::move(walk.match);
}

bool Router::look(const Node& node, size_t depth, Walk& walk) {
  if (depth == walk.segments.size()) return take(node, false, walk) || take(node, true, walk);
  const std::string& segment = walk.segments[depth];
  const auto literal = node.literals.find(segment);
  if (literal != node.literals.end() && look(*literal->second, depth + 1, walk)) return true;
  if (node.parameter && !segment.empty()) {
    walk.taken.push_back(depth);
    if (look(*node.parameter, depth + 1, walk)) return true;
    walk.taken.pop_back();
  }
  return take(node, true, walk);
}

// True when an entry of this node serves the method; else notes what the path would allow. GET
// brings HEAD along, unless an entry has it as its own.
bool Router::take(const Node& node, bool below, Walk& walk) {
  Match& match = walk.match;
  const Entry* found = nullptr;
  for (const Entry& entry : node.entries) {
    if (entry.prefix != below) continue;
    MethodSet methods = entry.methods;
    if (methods.has(Method::get)) methods.add(Method::head);
    match.allowed.add(methods);
    match.route = entry.route;
    match.answer = Answer::method_not_allowed;
    if (methods.has(walk.method) && (!found || entry.methods.has(walk.method))) found = &entry;
  }
  if (!found) return false;
  match.answer = Answer::found;
  match.route = found->route;
  for (size_t i = 0; i < found->names.size(); ++i)
    match.parameters.emplace_back(found->names[i], walk.segments[walk.taken[i]]);
  return true;
}

}  // namespace drom::http
