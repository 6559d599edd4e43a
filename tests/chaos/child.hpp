// A child process of the campaign: started with its own environment and log, killed, stopped,
// waited for. It dies with us, however we end. Used by one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drom::chaos {

using std::chrono::milliseconds;

int64_t now_ns();  // of the steady clock
void sleep_for(milliseconds time);

struct ChildOptions {
  std::vector<std::string> arguments;    // the program first
  std::vector<std::string> environment;  // NAME=value, added to ours
  std::string log;                       // gets what it prints
  int death_signal = 9;                  // when we end
  std::optional<uid_t> user;             // and its group
  std::optional<gid_t> group;
};

class Child {
 public:
  Child() = default;
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void start(const ChildOptions& options);
  bool running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // The wait status when it has ended; call again and it is nothing.
  std::optional<int> ended();
  std::optional<int> wait(milliseconds timeout);
  // SIGKILL, and waits.
  void end();

 private:
  pid_t pid_ = -1;
};

}  // namespace drom::chaos
