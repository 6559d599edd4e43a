#include "chaos/fault_proxy.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <thread>

namespace drom::chaos {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// Sends back what it gets; a thread per connection.
class Echo {
 public:
  Echo() : acceptor_(io_, {asio::ip::address_v4::loopback(), 0}) {
    thread_ = std::thread([this] { serve(); });
  }
  ~Echo() {
    stopping_ = true;
    ErrorCode ec;
    tcp::socket wake(io_);
    wake.connect(acceptor_.local_endpoint(), ec);
    thread_.join();
    for (std::thread& t : sessions_) t.join();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void serve() {
    while (true) {
      tcp::socket socket(io_);
      ErrorCode ec;
      acceptor_.accept(socket, ec);
      if (ec || stopping_) return;
      sessions_.emplace_back([s = std::move(socket)]() mutable {
        char data[4096];
        ErrorCode failed;
        while (!failed) {
          const size_t got = s.read_some(asio::buffer(data), failed);
          if (!failed) asio::write(s, asio::buffer(data, got), failed);
        }
      });
    }
  }
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> sessions_;
  std::thread thread_;
};

class FaultProxyTest : public ::testing::Test {
 protected:
  tcp::socket connect() {
    tcp::socket socket(io_);
    ErrorCode ec;
    socket.connect({asio::ip::address_v4::loopback(), proxy_.port()}, ec);
    connect_error_ = ec;
    return socket;
  }
  // What comes back for `text`; shorter when the connection ends before.
  static std::string ask(tcp::socket& socket, const std::string& text, ErrorCode& ec) {
    asio::write(socket, asio::buffer(text), ec);
    if (ec) return "";
    std::string out(text.size(), '\0');
    out.resize(asio::read(socket, asio::buffer(out), ec));
    return out;
  }
  static bool silent(tcp::socket& socket) {
    pollfd look{socket.native_handle(), POLLIN, 0};
    return ::poll(&look, 1, 60) == 0;
  }

  asio::io_context io_;
  Echo echo_;
  FaultProxy proxy_{echo_.port()};
  ErrorCode connect_error_;
};

TEST_F(FaultProxyTest, PassesEverythingInOrder) {
  tcp::socket socket = connect();
  std::string text;
  for (int i = 0; i < 20000; ++i) text += std::to_string(i) + ",";
  ErrorCode ec;
  std::thread writer([&] {
    ErrorCode failed;
    asio::write(socket, asio::buffer(text), failed);
  });
  std::string back(text.size(), '\0');
  asio::read(socket, asio::buffer(back), ec);
  writer.join();
  EXPECT_FALSE(ec);
  EXPECT_EQ(back, text);
}

TEST_F(FaultProxyTest, SlicesDelaysAndThrottlesWithoutChangingAByte) {
  tcp::socket socket = connect();
  for (const ProxyMode mode : {ProxyMode::slice, ProxyMode::delay, ProxyMode::bandwidth}) {
    proxy_.set({mode, std::chrono::milliseconds(5), 20'000});
    ErrorCode ec;
    const std::string text(700, static_cast<char>('a' + static_cast<int>(mode)));
    EXPECT_EQ(ask(socket, text, ec), text) << to_string(mode);
  }
}

TEST_F(FaultProxyTest, MuteKeepsTheAnswersUntilHealed) {
  tcp::socket socket = connect();
  proxy_.set({ProxyMode::mute});
  ErrorCode ec;
  asio::write(socket, asio::buffer(std::string("held")), ec);
  asio::steady_timer(io_, std::chrono::milliseconds(50)).wait();
  EXPECT_EQ(socket.available(ec), 0U);
  proxy_.heal();
  std::string back(4, '\0');
  asio::read(socket, asio::buffer(back), ec);
  EXPECT_FALSE(ec);
  EXPECT_EQ(back, "held");
}

TEST_F(FaultProxyTest, DownEndsConnectionsAndRefusesNewOnesUntilHealed) {
  tcp::socket socket = connect();
  ErrorCode ec;
  EXPECT_EQ(ask(socket, "x", ec), "x");
  proxy_.set({ProxyMode::down});
  EXPECT_EQ(ask(socket, "x", ec), "");
  EXPECT_TRUE(ec);
  connect();
  EXPECT_EQ(connect_error_, asio::error::connection_refused);
  proxy_.heal();
  tcp::socket again = connect();
  EXPECT_EQ(ask(again, "y", ec), "y");
}

TEST_F(FaultProxyTest, ABlackHoleGivesBackWhatItHeldWhenHealed) {
  tcp::socket socket = connect();
  proxy_.set({ProxyMode::blackhole});
  ErrorCode ec;
  asio::write(socket, asio::buffer("held", 4), ec);
  EXPECT_TRUE(silent(socket));
  proxy_.heal();
  std::string back(4, '\0');
  asio::read(socket, asio::buffer(back), ec);
  EXPECT_EQ(back, "held");
}

TEST_F(FaultProxyTest, ResetsConnections) {
  tcp::socket socket = connect();
  ErrorCode ec;
  EXPECT_EQ(ask(socket, "x", ec), "x");
  proxy_.set({ProxyMode::reset});
  char byte = 0;
  asio::read(socket, asio::buffer(&byte, 1), ec);
  EXPECT_EQ(ec, asio::error::connection_reset);
}

TEST_F(FaultProxyTest, CutsTheReplyAfterSomeBytes) {
  tcp::socket socket = connect();
  proxy_.cut_reply_after(3);
  ErrorCode ec;
  const std::string back = ask(socket, "abcdefgh", ec);
  EXPECT_TRUE(ec);
  EXPECT_LE(back.size(), 3u);
  EXPECT_EQ(proxy_.cuts(), 1u);
  tcp::socket again = connect();
  EXPECT_EQ(ask(again, "abcdefgh", ec), "abcdefgh");
}

TEST_F(FaultProxyTest, CutsTheReplyThatHoldsAText) {
  tcp::socket socket = connect();
  proxy_.cut_reply_at("COMMIT");
  ErrorCode ec;
  EXPECT_EQ(ask(socket, "BEGIN COM", ec), "BEGIN COM");
  EXPECT_EQ(ask(socket, "MIT", ec), "");
  EXPECT_TRUE(ec);
  EXPECT_EQ(proxy_.cuts(), 1u);
}

}  // namespace
}  // namespace drom::chaos
