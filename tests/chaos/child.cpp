#include "chaos/child.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

namespace drom::chaos {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void sleep_for(milliseconds time) { std::this_thread::sleep_for(time); }

void Child::start(const ChildOptions& options) {
  // Everything that allocates happens before the fork: other threads may hold locks.
  std::vector<std::string> environment = options.environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  std::vector<char*> argv, envp;
  for (const std::string& text : options.arguments) argv.push_back(const_cast<char*>(text.c_str()));
  for (const std::string& text : environment) envp.push_back(const_cast<char*>(text.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const int log = ::open(options.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("cannot start a process");
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, options.death_signal);
    if (::getppid() != parent) ::_exit(127);
    if (options.group && (::setgroups(0, nullptr) != 0 || ::setgid(*options.group) != 0))
      ::_exit(127);
    if (options.user && ::setuid(*options.user) != 0) ::_exit(127);
    if (options.user) ::prctl(PR_SET_PDEATHSIG, options.death_signal);  // setuid clears it
    if (log >= 0) {
      ::dup2(log, 1);
      ::dup2(log, 2);
    }
    ::close_range(3, ~0U, 0);  // a listener of ours must not live on in a child
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  if (log >= 0) ::close(log);
  pid_ = pid;
}

void Child::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

std::optional<int> Child::ended() {
  if (pid_ <= 0) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return status;
}

std::optional<int> Child::wait(milliseconds timeout) {
  const int64_t until = now_ns() + std::chrono::nanoseconds(timeout).count();
  while (running()) {
    if (const auto status = ended()) return status;
    if (now_ns() >= until) return std::nullopt;
    sleep_for(milliseconds(1));
  }
  return std::nullopt;
}

void Child::end() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGCONT);
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
}

}  // namespace drom::chaos
