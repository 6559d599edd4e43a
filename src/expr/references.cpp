#include "expr/references.hpp"

#include <algorithm>

namespace drom::expr {
namespace {

class Body final : public Node {
 public:
  Result<Operand> evaluate(Frame& frame) const override { return Operand::borrow(&frame.body); }
};

class Named final : public Node {
 public:
  Named(NamedPlace place, std::string name) : place_(place), name_(std::move(name)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    return Operand::borrow(find_named(frame.exchange, place_, name_));
  }
  bool reads_body() const override { return false; }

 private:
  NamedPlace place_;
  std::string name_;
};

// A header by Camel's name of a connector's metadata: as it is written, else by our name.
class Metadata final : public Node {
 public:
  Metadata(std::string name, std::string ours) : name_(std::move(name)), ours_(std::move(ours)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Value* found = find_named(frame.exchange, NamedPlace::header, name_);
    if (!found) found = find_named(frame.exchange, NamedPlace::header, ours_);
    return Operand::borrow(found);
  }
  bool reads_body() const override { return false; }

 private:
  std::string name_;
  std::string ours_;
};

// "CamelKafkaTopic" is kafka.topic; names of headers have no case. Empty: nobody's.
std::string metadata_name(std::string_view name) {
  struct Prefix {
    std::string_view camel;
    std::string_view ours;
  };
  constexpr Prefix kPrefixes[] = {{"CamelKafka", "kafka."},
                                  {"CamelSpringRabbitmq", "rabbitmq."},
                                  {"CamelRabbitmq", "rabbitmq."}};
  for (const Prefix& prefix : kPrefixes) {
    if (name.size() <= prefix.camel.size() ||
        !iequals(name.substr(0, prefix.camel.size()), prefix.camel))
      continue;
    const std::string_view rest = name.substr(prefix.camel.size());
    return std::string(prefix.ours).append(iequals(rest, "ExchangeName") ? "exchange" : rest);
  }
  return {};
}

class ComputedName final : public Node {
 public:
  ComputedName(NamedPlace place, NodePtr name) : place_(place), name_(std::move(name)) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Result<Operand> name = name_->evaluate(frame);
    if (!name) return name.error();
    return Operand::borrow(find_named(frame.exchange, place_, name->get().to_text()));
  }

 private:
  NamedPlace place_;
  NodePtr name_;
};

class DottedName final : public Node {
 public:
  DottedName(NamedPlace place, Path path) : place_(place), path_(std::move(path)) {
    for (const PathStep& step : path_) {
      if (step.kind != PathStep::Kind::field) break;
      names_.push_back(names_.empty() ? step.name : names_.back() + "." + step.name);
    }
  }
  Result<Operand> evaluate(Frame& frame) const override {
    for (size_t used = names_.size(); used > 0; --used) {
      const Value* found = find_named(frame.exchange, place_, names_[used - 1]);
      if (found) return follow(frame, Operand::borrow(found), path_, used);
    }
    return Operand(Value());
  }
  bool reads_body() const override { return expr::reads_body(path_); }

 private:
  NamedPlace place_;
  Path path_;
  std::vector<std::string> names_;  // shortest first
};

class AllNamed final : public Node {
 public:
  explicit AllNamed(NamedPlace place) : place_(place) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Exchange& exchange = frame.exchange;
    if (place_ == NamedPlace::property) return Operand(Value(exchange.properties));
    if (place_ == NamedPlace::variable) return Operand(Value(exchange.variables));
    Object out;
    out.reserve(exchange.message.headers.size());
    for (const Headers::Entry& entry : exchange.message.headers)
      out.append(entry.first, entry.second);
    return Operand(Value(std::move(out)));
  }

 private:
  NamedPlace place_;
};

const Error* current_error(const Exchange& exchange) {
  return exchange.error ? exchange.error.get() : exchange.caught.get();
}

Value whole_error(const Error& e) {
  return e.type.empty() ? Value(e.what) : Value(e.type + ": " + e.what);
}
Value error_message(const Error& e) { return e.what; }
// Errors without a name of their own are named after their kind.
Value error_type(const Error& e) {
  return e.type.empty() ? Value(to_string(e.kind)) : Value(e.type);
}
Value error_kind(const Error& e) { return to_string(e.kind); }
Value error_place(const Error& e) { return e.where; }
Value error_hint(const Error& e) { return e.hint; }
Value error_trace(const Error& e) {
  std::string out = whole_error(e).to_text();
  if (!e.where.empty()) out += "\n\tat " + e.where;
  if (!e.hint.empty()) out += "\n\t(" + e.hint + ")";
  return out;
}

struct ErrorPart {
  std::string_view name;
  Value (*read)(const Error&);
};
constexpr ErrorPart kErrorParts[] = {
    {"", whole_error},
    {".message", error_message},
    {".type", error_type},
    {".class.name", error_type},
    {".class", error_type},
    {".class.simpleName", error_type},
    {".kind", error_kind},
    {".where", error_place},
    {".hint", error_hint},
    {".stacktrace", error_trace},
    {".stackTrace", error_trace},
    {".getMessage()", error_message},
};

class Exception final : public Node {
 public:
  explicit Exception(Value (*read)(const Error&)) : read_(read) {}
  Result<Operand> evaluate(Frame& frame) const override {
    const Error* error = current_error(frame.exchange);
    return Operand(error ? read_(*error) : Value());
  }

 private:
  Value (*read_)(const Error&);
};

}  // namespace

const Value* find_named(const Exchange& exchange, NamedPlace place, std::string_view name) {
  switch (place) {
    case NamedPlace::header: return exchange.message.headers.find(name);
    case NamedPlace::property: return exchange.properties.find(name);
    case NamedPlace::variable: return exchange.variables.find(name);
  }
  return nullptr;
}

NodePtr make_body() { return std::make_unique<Body>(); }

NodePtr make_named(NamedPlace place, std::string name) {
  if (place == NamedPlace::header) {
    std::string ours = metadata_name(name);
    if (!ours.empty()) return std::make_unique<Metadata>(std::move(name), std::move(ours));
  }
  return std::make_unique<Named>(place, std::move(name));
}

NodePtr make_computed_name(NamedPlace place, NodePtr name) {
  return std::make_unique<ComputedName>(place, std::move(name));
}

NodePtr make_dotted_name(NamedPlace place, Path path) {
  if (path.size() == 1) return make_named(place, std::move(path[0].name));
  return std::make_unique<DottedName>(place, std::move(path));
}

NodePtr make_all_named(NamedPlace place) { return std::make_unique<AllNamed>(place); }

NodePtr make_exception(std::string_view part) {
  for (const ErrorPart& known : kErrorParts)
    if (known.name == part) return std::make_unique<Exception>(known.read);
  return nullptr;
}

}  // namespace drom::expr
