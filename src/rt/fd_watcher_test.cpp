#include "rt/fd_watcher.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

namespace drom {
namespace {

namespace asio = boost::asio;
using Event = FdWatcher::Event;
using Interest = FdWatcher::Interest;

struct Pair {
  int ends[2] = {-1, -1};
  Pair() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
  Pair(const Pair&) = delete;
  ~Pair() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
};

async<> wait_into(FdWatcher& watcher, Interest interest, milliseconds timeout, std::optional<Event>& out) {
  out = co_await watcher.wait(interest, timeout);
}

class FdWatcherTest : public ::testing::Test {
 protected:
  void start(Interest interest, milliseconds timeout = std::chrono::seconds(30)) {
    event.reset();
    asio::co_spawn(io, wait_into(watcher, interest, timeout, event), asio::detached);
    io.restart();
    io.poll();
  }
  void finish() {
    io.restart();
    while (!event && io.run_one() > 0) {
    }
  }
  void fill(int fd) {
    const std::string block(65536, 'x');
    while (::write(fd, block.data(), block.size()) > 0) {
    }
  }

  Pair pair;
  asio::io_context io{1};
  FdWatcher watcher{io};
  std::optional<Event> event;
};

TEST_F(FdWatcherTest, WaitsUntilThereIsSomethingToRead) {
  watcher.assign(pair.ends[0]);
  start(Interest::read);
  EXPECT_FALSE(event);
  ASSERT_EQ(::write(pair.ends[1], "x", 1), 1);
  finish();
  EXPECT_EQ(event, Event::ready);
}

TEST_F(FdWatcherTest, SeesRoomToWrite) {
  watcher.assign(pair.ends[0]);
  start(Interest::write);
  finish();
  EXPECT_EQ(event, Event::ready);
}

TEST_F(FdWatcherTest, SeesInputWhileTheOutputIsFull) {
  fill(pair.ends[0]);
  watcher.assign(pair.ends[0]);
  start(Interest::read_or_write);
  EXPECT_FALSE(event);
  ASSERT_EQ(::write(pair.ends[1], "x", 1), 1);
  finish();
  EXPECT_EQ(event, Event::ready);
}

TEST_F(FdWatcherTest, GivesUpAtTheDeadlineAndWorksAgainAfterwards) {
  watcher.assign(pair.ends[0]);
  start(Interest::read, milliseconds(1));
  finish();
  EXPECT_EQ(event, Event::timeout);

  start(Interest::read);
  ASSERT_EQ(::write(pair.ends[1], "x", 1), 1);
  finish();
  EXPECT_EQ(event, Event::ready);
}

TEST_F(FdWatcherTest, SeesTheOtherSideClosing) {
  watcher.assign(pair.ends[0]);
  start(Interest::read);
  ::shutdown(pair.ends[1], SHUT_RDWR);
  finish();
  EXPECT_EQ(event, Event::ready);  // a read then tells the end
}

TEST_F(FdWatcherTest, NeverClosesTheDescriptor) {
  {
    FdWatcher other(io);
    other.assign(pair.ends[0]);
  }
  watcher.assign(pair.ends[0]);
  watcher.forget();
  EXPECT_EQ(::write(pair.ends[0], "x", 1), 1);
}

TEST_F(FdWatcherTest, EndsTheWaitWhenTheDescriptorIsForgotten) {
  watcher.assign(pair.ends[0]);
  start(Interest::read);
  watcher.forget();
  finish();
  EXPECT_EQ(event, Event::broken);
}

TEST_F(FdWatcherTest, EndsTheWaitWhenItIsInterrupted) {
  watcher.assign(pair.ends[0]);
  start(Interest::read);
  watcher.interrupt();
  finish();
  EXPECT_EQ(event, Event::timeout);
  watcher.interrupt();  // kept for the next wait
  start(Interest::read);
  finish();
  EXPECT_EQ(event, Event::timeout);
}

}  // namespace
}  // namespace drom
