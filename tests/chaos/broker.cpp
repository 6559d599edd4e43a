#include "chaos/broker.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "chaos/child.hpp"
#include "drom/base/json.hpp"

namespace drom::chaos {
namespace {

constexpr milliseconds kPatience{120'000};

}  // namespace

Broker::Broker(const char* pid_variable) {
  const char* const file = std::getenv(pid_variable);
  if (!file)
    throw std::runtime_error(std::string(pid_variable) + " is not set; run me by with_servers.sh");
  pid_file_ = file;
}

bool Broker::comes() {
  const int64_t limit = now_ns() + std::chrono::nanoseconds(kPatience).count();
  while (!answers()) {
    if (now_ns() > limit) return false;
    sleep_for(milliseconds(100));
  }
  return true;
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
  if (body && body->as_object()) read_payload(*body->as_object(), out);
  return out;
}

}  // namespace drom::chaos
