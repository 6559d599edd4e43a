#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "rt/failpoint.hpp"
#include "rt/failpoint_plan.hpp"

namespace drom {
namespace {

using Action = FailpointPlan::Action;

FailpointPlan plan_of(std::string_view text, uint64_t seed = 1) {
  Result<FailpointPlan> plan = FailpointPlan::parse(text, seed);
  EXPECT_TRUE(plan.ok()) << text;
  return plan ? std::move(*plan) : FailpointPlan();
}

TEST(Failpoint, DoesNothingWithoutAHook) {
  EXPECT_EQ(failpoint_hook().load(), nullptr);
  EXPECT_FALSE(failpoint("mark.before_commit"));
}

TEST(Failpoint, ActsAtTheNamedHitOnly) {
  FailpointPlan plan = plan_of("mark.before_commit=kill:#3");
  EXPECT_EQ(plan.hit("mark.before_commit").action, Action::none);
  EXPECT_EQ(plan.hit("mark.after_commit").action, Action::none);
  EXPECT_EQ(plan.hit("mark.before_commit").action, Action::none);
  const FailpointPlan::Decision third = plan.hit("mark.before_commit");
  EXPECT_EQ(third.action, Action::kill);
  EXPECT_EQ(third.hit, 3u);
  EXPECT_EQ(plan.hit("mark.before_commit").action, Action::none);
}

TEST(Failpoint, ReadsSeveralRulesWithTheirTimes) {
  FailpointPlan plan = plan_of("lease.renew=fail;publish.before=delay:50;dlq.after=hang:1/1;");
  EXPECT_EQ(plan.hit("lease.renew").action, Action::fail);
  EXPECT_EQ(plan.hit("dlq.after").action, Action::hang);
  const FailpointPlan::Decision delay = plan.hit("publish.before");
  EXPECT_EQ(delay.action, Action::delay);
  EXPECT_EQ(delay.delay, milliseconds(50));
}

TEST(Failpoint, TakesItsChancesFromTheSeed) {
  const auto run = [](uint64_t seed) {
    FailpointPlan plan = plan_of("poll.after_fetch=fail:1/4", seed);
    std::string out;
    for (int i = 0; i < 400; ++i)
      out += plan.hit("poll.after_fetch").action == Action::fail ? 'x' : '.';
    return out;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
  const auto fired = std::ranges::count(run(7), 'x');
  EXPECT_GT(fired, 60);
  EXPECT_LT(fired, 140);
}

TEST(Failpoint, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"mark.befor_commit=kill", "mark.before_commit", "mark.before_commit=die",
                           "publish.before=delay", "publish.before=delay:x", "dlq.before=kill:1/0",
                           "dlq.before=kill:2/3", "dlq.before=kill:#0", "dlq.before=kill:#x"})
    EXPECT_FALSE(FailpointPlan::parse(text, 0).ok()) << text;
  EXPECT_TRUE(FailpointPlan::parse("", 0).ok());
}

// In a child process, because the hook is the whole process's.
TEST(Failpoint, KillsTheProcessAndLeavesALine) {
  const std::string log =
      (std::filesystem::temp_directory_path() / ("drom-failpoint-" + std::to_string(::getpid())))
          .string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("DROM_FAILPOINTS", "mark.after_commit=kill:#2;publish.before=fail", 1);
    ::setenv("DROM_FAILPOINTS_LOG", log.c_str(), 1);
    const Result<void> followed = follow_failpoints_of_environment();
    const bool fails = followed.ok() && failpoint("publish.before");
    failpoint("mark.after_commit");
    if (fails) failpoint("mark.after_commit");
    ::_exit(1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  std::ifstream file(log);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find(R"("failpoint":"publish.before","action":"fail","hit":1)"),
            std::string::npos);
  EXPECT_NE(text.find(R"("failpoint":"mark.after_commit","action":"none","hit":1)"),
            std::string::npos);
  EXPECT_NE(text.find(R"("failpoint":"mark.after_commit","action":"kill","hit":2)"),
            std::string::npos);
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace drom
