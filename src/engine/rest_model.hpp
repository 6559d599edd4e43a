// `rest` and `restConfiguration`, validated and with paths joined: what the routes and the OpenAPI
// document are made from. Load time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drom/base/value.hpp"
#include "drom/config/config.hpp"
#include "drom/spi/route_spec.hpp"

namespace drom {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct RestParam {
  Config options;  // of `param`, or of `header` of a responseMessage
  std::vector<std::string> allowed;
  Pairs examples;
  bool has_default = false;
};

struct RestResponse {
  Config options;
  std::vector<RestParam> headers;
  Pairs examples;
};

struct RestOperation {
  std::string method;    // "get"
  std::string path;      // with that of its service, without contextPath: "/orders/{id}"
  std::string route_id;  // unique
  std::string operation_id;
  std::string description;
  std::string tag;
  std::string consumes;
  std::string produces;
  bool json = false;  // bindingMode
  bool cors = false;
  bool validate = false;
  bool documented = true;
  Config options;
  std::vector<RestParam> params;
  std::vector<RestResponse> responses;
  std::vector<Config> security;
  const StepSpec* spec = nullptr;  // `to` or steps
};

struct RestModel {
  Config configuration;
  std::string context_path;  // "" or "/api"
  std::string api_path;      // of the document, with context_path; "": none
  Pairs api_properties;
  Pairs cors_headers;
  std::vector<RestOperation> operations;
  // Of all services: the name of the clause ("oauth2"), its options and its scopes.
  struct Scheme {
    std::string kind;
    Config options;
    Pairs scopes;
  };
  std::vector<Scheme> schemes;
  // What comes from OpenAPI documents.
  struct Contract {
    std::unique_ptr<StepSpec> rest;
    Value document;
    std::string path;  // where it is served; "": nowhere
    Location where;
  };
  std::vector<Contract> contracts;
};

// Refers to `spec`, which must outlive the model. Errors go to `diagnostics`.
RestModel read_rest_model(const ContextSpec& spec, const PropertySource& properties,
                          Diagnostics& diagnostics);

// "/a/" and "b" -> "/a/b"; nothing -> "".
std::string join_paths(std::string_view first, std::string_view second);

// The {names} of a path, in their order.
std::vector<std::string> path_names(std::string_view path);

}  // namespace drom
