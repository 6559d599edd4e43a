#include "chaos/broker.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "drom/base/json.hpp"

namespace drom::chaos {
namespace {

std::string text(const Object& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? value->to_text() : std::string();
}

}  // namespace

Broker::Broker(const char* pid_variable) {
  const char* const file = std::getenv(pid_variable);
  if (!file)
    throw std::runtime_error(std::string(pid_variable) + " is not set; run me by with_servers.sh");
  pid_file_ = file;
}

void Broker::signal(int number) const {
  pid_t pid = 0;
  std::ifstream(pid_file_) >> pid;
  if (pid > 1) ::kill(pid, number);
}

Delivered Broker::delivered_of(std::string_view payload, const std::string& seq) const {
  Delivered out;
  out.destination = name();
  out.seq = std::atoll(seq.c_str());
  const Result<Value> body = parse_json(payload);
  const Object* const object = body ? body->as_object() : nullptr;
  if (!object) return out;
  out.event = text(*object, "event");
  out.key = text(*object, "key");
  out.hash = payload_hash(text(*object, "pad"));
  return out;
}

}  // namespace drom::chaos
