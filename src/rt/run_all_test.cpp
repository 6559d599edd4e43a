#include "rt/run_all.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "support/harness.hpp"

namespace drom {
namespace {

using testing::Harness;

async<> sleep_and_note(Clock& clock, milliseconds duration, int id, std::vector<int>& ended) {
  co_await clock.sleep(duration);
  ended.push_back(id);
}

async<> fail_at_once() {
  throw std::runtime_error("boom");
  co_return;
}

TEST(RunAll, TakesAsLongAsTheSlowest) {
  Harness harness;
  std::vector<int> ended;
  std::vector<async<>> work;
  work.push_back(sleep_and_note(harness.clock(), milliseconds(300), 1, ended));
  work.push_back(sleep_and_note(harness.clock(), milliseconds(100), 2, ended));
  work.push_back(sleep_and_note(harness.clock(), milliseconds(200), 3, ended));
  const SteadyTime start = harness.clock().steady();
  harness.run(run_all(std::move(work)));
  EXPECT_EQ(ended, (std::vector<int>{2, 3, 1}));
  EXPECT_EQ(harness.clock().steady() - start, milliseconds(300));
}

TEST(RunAll, WaitsForTheOthersWhenOneThrows) {
  Harness harness;
  std::vector<int> ended;
  std::vector<async<>> work;
  work.push_back(fail_at_once());
  work.push_back(sleep_and_note(harness.clock(), milliseconds(100), 2, ended));
  EXPECT_THROW(harness.run(run_all(std::move(work))), std::runtime_error);
  EXPECT_EQ(ended, std::vector<int>{2});
}

}  // namespace
}  // namespace drom
