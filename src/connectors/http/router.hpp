// Finds the route of a request path. Templates are segments, literal or {name}; a literal wins over
// a parameter, a longer template over a prefix. A tree of segments: the cost is that of the path,
// not of the number of routes. Pure; the server's shard.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "connectors/http/http_text.hpp"
#include "drom/base/error.hpp"

namespace drom::http {

struct Route;  // what the server serves; the router only keeps it

class Router {
 public:
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  enum class Answer : uint8_t { found, not_found, method_not_allowed, bad_path };
  struct Match {
    Answer answer = Answer::not_found;
    std::shared_ptr<Route> route;  // found; also a route of the path when only the method is wrong
    Parameters parameters;         // decoded
    MethodSet allowed;             // every method of this path
  };

  // `path` is "/orders/{id}"; with `prefix` everything below it matches as well. An error of kind
  // config: a bad template, or another route serves one of the methods there.
  Result<void> add(std::string_view path, bool prefix, MethodSet methods,
                   std::shared_ptr<Route> route);
  void remove(const Route* route);

  // `path` as it stands in the request, still escaped. GET serves HEAD too.
  Match find(std::string_view path, Method method) const;

 private:
  struct Entry {
    std::shared_ptr<Route> route;
    MethodSet methods;
    std::vector<std::string> names;  // of the parameters, in order
    bool prefix = false;
  };
  struct Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::vector<Entry> entries;
  };
  struct Walk;

  static bool look(const Node& node, size_t depth, Walk& walk);
  static bool take(const Node& node, bool below, Walk& walk);
  static void remove_from(Node& node, const Route* route);

  Node root_;
};

}  // namespace drom::http
