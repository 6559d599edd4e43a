// What happens at which failpoint, from a text such as
//   mark.before_commit=kill:1/20;publish.before=delay:50;lease.renew=fail:#3
// The actions are kill (SIGKILL to ourselves), hang (for ever), fail, and delay:MS; a chance
// (1/20) or the number of the one hit that counts (#3) may follow. Chances come from a seed. Used
// by test programs only; any thread.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "drom/base/error.hpp"
#include "drom/base/time.hpp"

namespace drom {

// Every failpoint there is. A plan that names another one is refused.
std::span<const std::string_view> failpoint_names();

class FailpointPlan {
 public:
  enum class Action : uint8_t { none, kill, hang, delay, fail };
  struct Decision {
    Action action = Action::none;
    milliseconds delay{0};
    uint64_t hit = 0;  // of this point, from 1
  };

  static Result<FailpointPlan> parse(std::string_view text, uint64_t seed);
  // Counts the hit and decides. Points that the plan does not name are counted, too.
  Decision hit(std::string_view name);

 private:
  struct Rule {
    Action action = Action::none;
    milliseconds delay{0};
    uint64_t one_in = 1;
    uint64_t only = 0;  // 0: every hit
  };
  std::map<std::string, Rule, std::less<>> rules_;
  std::map<std::string, uint64_t, std::less<>> hits_;
  uint64_t dice_ = 0;
};

// Makes this process follow the environment: DROM_FAILPOINTS (the plan), DROM_FAILPOINTS_SEED,
// DROM_FAILPOINTS_LOG (a file that gets a JSON line for the first hit of a point and for each
// action, written before acting). Without DROM_FAILPOINTS and a log nothing is installed. Once, at
// the start.
Result<void> follow_failpoints_of_environment();

std::string_view to_string(FailpointPlan::Action action);

}  // namespace drom
