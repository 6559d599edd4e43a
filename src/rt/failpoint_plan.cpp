#include "rt/failpoint_plan.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <thread>

#include "rt/environment.hpp"
#include "rt/failpoint.hpp"

namespace drom {
namespace {

constexpr std::string_view kNames[] = {
    "poll.before_fetch",
    "poll.after_fetch",
    "claim.before_commit",
    "claim.after_commit",
    "lease.renew",
    "lease.lost",
    "publish.before",
    "publish.sent_no_ack",
    "publish.acked_no_mark",
    "mark.before_commit",
    "mark.after_commit",
    "dlq.before",
    "dlq.after",
    "inbox.before_insert",
    "inbox.inserted_no_effect",
    "inbox.effect_no_commit",
    "inbox.committed_no_ack",
    "uow.before_commit",
    "uow.after_commit",
    "deferred.before",
    "deferred.after",
    "commit.before",
    "commit.sent",
    "commit.done",
    "shutdown.drain",
};

Error wrong(std::string_view rule) {
  return Error(ErrorKind::config, "'" + std::string(rule) + "' is no failpoint rule",
               "write name=kill, hang, fail or delay:MS, then :1/N or :#N");
}

bool number(std::string_view text, uint64_t& out) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  return ec == std::errc() && end == text.data() + text.size();
}

std::string_view cut(std::string_view& text, char at) {
  const size_t end = std::min(text.find(at), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

struct Installed {
  std::mutex mutex;
  FailpointPlan plan;
  int log = -1;
};

Installed& installed() {
  static Installed state;
  return state;
}

void write_line(int file, std::string_view name, const FailpointPlan::Decision& decision) {
  if (file < 0) return;
  const std::string line = R"({"failpoint":")" + std::string(name) + R"(","action":")" +
                           std::string(to_string(decision.action)) + R"(","hit":)" +
                           std::to_string(decision.hit) + R"(,"pid":)" +
                           std::to_string(::getpid()) + "}\n";
  // One write of a short line is not torn apart; nothing can be done when the disk is full.
  [[maybe_unused]] const auto written = ::write(file, line.data(), line.size());
}

bool act(const char* name) {
  FailpointPlan::Decision decision;
  {
    Installed& state = installed();
    const std::lock_guard lock(state.mutex);
    decision = state.plan.hit(name);
    if (decision.hit == 1 || decision.action != FailpointPlan::Action::none)
      write_line(state.log, name, decision);
  }
  switch (decision.action) {
    case FailpointPlan::Action::none: return false;
    case FailpointPlan::Action::fail: return true;
    case FailpointPlan::Action::delay: std::this_thread::sleep_for(decision.delay); return false;
    case FailpointPlan::Action::kill: ::kill(::getpid(), SIGKILL); break;
    case FailpointPlan::Action::hang: break;
  }
  while (true) ::pause();
}

}  // namespace

std::span<const std::string_view> failpoint_names() { return kNames; }

std::string_view to_string(FailpointPlan::Action action) {
  switch (action) {
    case FailpointPlan::Action::none: return "none";
    case FailpointPlan::Action::kill: return "kill";
    case FailpointPlan::Action::hang: return "hang";
    case FailpointPlan::Action::delay: return "delay";
    case FailpointPlan::Action::fail: return "fail";
  }
  return "none";
}

Result<FailpointPlan> FailpointPlan::parse(std::string_view text, uint64_t seed) {
  FailpointPlan out;
  out.dice_ = seed;
  while (!text.empty()) {
    const std::string_view whole = cut(text, ';');
    if (whole.empty()) continue;
    std::string_view rest = whole;
    const std::string name(cut(rest, '='));
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      return Error(ErrorKind::config, "there is no failpoint '" + name + "'");
    Rule rule;
    const std::string_view action = cut(rest, ':');
    if (action == "kill") rule.action = Action::kill;
    if (action == "hang") rule.action = Action::hang;
    if (action == "fail") rule.action = Action::fail;
    if (action == "delay") rule.action = Action::delay;
    if (rule.action == Action::none) return wrong(whole);
    uint64_t delay = 0;
    if (rule.action == Action::delay && !number(cut(rest, ':'), delay)) return wrong(whole);
    rule.delay = milliseconds(delay);
    if (rest.starts_with("1/")) {
      if (!number(rest.substr(2), rule.one_in) || rule.one_in == 0) return wrong(whole);
    } else if (rest.starts_with('#')) {
      if (!number(rest.substr(1), rule.only) || rule.only == 0) return wrong(whole);
    } else if (!rest.empty()) {
      return wrong(whole);
    }
    out.rules_[name] = rule;
  }
  return out;
}

FailpointPlan::Decision FailpointPlan::hit(std::string_view name) {
  Decision out;
  auto count = hits_.find(name);
  if (count == hits_.end()) count = hits_.emplace(name, 0).first;
  out.hit = ++count->second;
  const auto rule = rules_.find(name);
  if (rule == rules_.end()) return out;
  if (rule->second.only != 0 && rule->second.only != out.hit) return out;
  dice_ += 0x9e3779b97f4a7c15u;  // splitmix64
  uint64_t dice = dice_;
  dice = (dice ^ (dice >> 30)) * 0xbf58476d1ce4e5b9u;
  dice = (dice ^ (dice >> 27)) * 0x94d049bb133111ebu;
  dice ^= dice >> 31;
  if (dice % rule->second.one_in != 0) return out;
  out.action = rule->second.action;
  out.delay = rule->second.delay;
  return out;
}

Result<void> follow_failpoints_of_environment() {
  const std::string text = environment_variable("DROM_FAILPOINTS").value_or("");
  const std::string log = environment_variable("DROM_FAILPOINTS_LOG").value_or("");
  if (text.empty() && log.empty()) return {};
  uint64_t seed = 0;
  const std::string seed_text = environment_variable("DROM_FAILPOINTS_SEED").value_or("0");
  if (!number(seed_text, seed))
    return Error(ErrorKind::config, "DROM_FAILPOINTS_SEED is no number");
  Result<FailpointPlan> plan = FailpointPlan::parse(text, seed);
  if (!plan) return std::move(plan.error());
  Installed& state = installed();
  state.plan = std::move(*plan);
  if (!log.empty()) {
    state.log = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (state.log < 0) return Error(ErrorKind::config, "cannot write DROM_FAILPOINTS_LOG " + log);
  }
  failpoint_hook().store(act);
  return {};
}

}  // namespace drom
