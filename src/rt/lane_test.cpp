#include "rt/lane.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

namespace drom {
namespace {

namespace asio = boost::asio;

struct Seen {
  std::thread::id work;
  std::thread::id after;
  int result = 0;
};

async<> ask(Lane& lane, Seen& seen) {
  const auto work = [&seen] {
    seen.work = std::this_thread::get_id();
    return 7;
  };
  seen.result = co_await lane.call(work);
  seen.after = std::this_thread::get_id();
}

TEST(Lane, RunsTheWorkElsewhereAndGoesOnOnTheShard) {
  asio::io_context io(1);
  Lane lane(io, "test");
  Seen seen;
  asio::co_spawn(io, ask(lane, seen), asio::detached);
  io.run();  // does not return while the lane owes an answer
  EXPECT_EQ(seen.result, 7);
  EXPECT_NE(seen.work, std::this_thread::get_id());
  EXPECT_EQ(seen.after, std::this_thread::get_id());
}

async<> note(Lane& lane, int number, std::vector<int>& ran, std::vector<int>& resumed) {
  const auto work = [number, &ran] { ran.push_back(number); };
  co_await lane.call(work);
  resumed.push_back(number);
}

TEST(Lane, KeepsTheOrderInWhichWorkWasGiven) {
  asio::io_context io(1);
  Lane lane(io, "test");
  std::vector<int> ran;
  std::vector<int> resumed;
  std::vector<int> expected;
  for (int i = 0; i < 200; ++i) {
    asio::co_spawn(io, note(lane, i, ran, resumed), asio::detached);
    expected.push_back(i);
  }
  io.run();
  EXPECT_EQ(ran, expected);
  EXPECT_EQ(resumed, expected);
}

async<> fail(Lane& lane, std::string& what) {
  const auto work = []() -> int { throw std::runtime_error("disk on fire"); };
  try {
    const int unused = co_await lane.call(work);
    what = std::to_string(unused);
  } catch (const std::exception& e) {
    what = e.what();
  }
}

TEST(Lane, BringsAnExceptionToTheCaller) {
  asio::io_context io(1);
  Lane lane(io, "test");
  std::string what;
  asio::co_spawn(io, fail(lane, what), asio::detached);
  io.run();
  EXPECT_EQ(what, "disk on fire");
}

TEST(Lane, FinishesWhatWasHandedOverBeforeItJoins) {
  asio::io_context io(1);
  int done = 0;
  {
    Lane lane(io, "test");
    for (int i = 0; i < 100; ++i) lane.push([&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

async<> wait_for(Lane& lane, std::shared_future<void> go, std::shared_ptr<int> alive) {
  const auto work = [go] { go.wait(); };
  co_await lane.call(work);
  *alive = 1;  // never reached in the test below
}

TEST(Lane, MayAnswerAShardThatHasStopped) {
  const auto alive = std::make_shared<int>(0);
  {
    asio::io_context io(1);
    std::promise<void> go;
    Lane lane(io, "test");
    asio::co_spawn(io, wait_for(lane, go.get_future().share(), alive), asio::detached);
    io.poll();
    io.stop();
    EXPECT_EQ(alive.use_count(), 2);
    go.set_value();
  }
  EXPECT_EQ(*alive, 0);
  EXPECT_EQ(alive.use_count(), 1);  // the frame was unwound, not leaked
}

}  // namespace
}  // namespace drom
