// A client of raw bytes on the loopback interface, for what no decent client would send. The test's
// own thread drives both sides.
#pragma once

#include <poll.h>

#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <string>

#include "support/harness.hpp"

namespace drom::testing {

// What an HTTP answer looks like to a test.
struct RawReply {
  int status = 0;
  std::string head;
  std::string body;
  bool has(std::string_view line) const {
    return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
  }
};

class RawClient {
 public:
  RawClient(Harness& harness, uint16_t port) : harness_(harness), socket_(harness.io()) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    socket_.set_option(boost::asio::ip::tcp::no_delay(true));
    socket_.non_blocking(true);
    harness_.settle();
  }

  // Writes all; the server reads in between.
  void send(std::string_view text) {
    pump([&] {
      boost::system::error_code ec;
      const size_t sent = socket_.write_some(boost::asio::buffer(text.data(), text.size()), ec);
      text.remove_prefix(sent);
      return text.empty() || (ec && ec != boost::asio::error::would_block);
    });
    harness_.settle();
  }

  // Reads one answer; `head_only` after HEAD. status 0: the connection ended without one.
  RawReply reply(bool head_only = false) {
    RawReply out;
    pump([&] { return input_.find("\r\n\r\n") != std::string::npos || !read(); });
    const size_t end = input_.find("\r\n\r\n");
    if (end == std::string::npos) return out;
    out.head = input_.substr(0, end + 2);
    out.status = std::stoi(input_.substr(9, 3));
    input_.erase(0, end + 4);
    const size_t at = out.head.find("\r\nContent-Length: ");
    const size_t length =
        at == std::string::npos || head_only ? 0 : std::stoul(out.head.substr(at + 18));
    pump([&] { return input_.size() >= length || !read(); });
    out.body = input_.substr(0, length);
    input_.erase(0, length);
    return out;
  }

  RawReply ask(std::string_view text, bool head_only = false) {
    send(text);
    return reply(head_only);
  }

  // Everything up to `mark`, and it; less when the connection ends before.
  std::string until(std::string_view mark) {
    pump([&] { return input_.find(mark) != std::string::npos || !read(); });
    const size_t at = input_.find(mark);
    const std::string out = input_.substr(0, at == std::string::npos ? at : at + mark.size());
    input_.erase(0, out.size());
    return out;
  }

  // Takes what fits into one read, without asking for more.
  void read_some() {
    read();
    harness_.settle();
  }
  // True when the server ends the connection, and has nothing more to say.
  bool ended() {
    pump([&] { return !read(); });
    return ended_ && input_.empty();
  }
  // Nothing is there to read, and the connection is alive.
  bool silent() {
    harness_.settle();
    return read() && input_.empty();
  }
  void end_writing() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send); }
  void close() {
    socket_.close();
    harness_.settle();
  }
  // Ends with a reset instead of a goodbye.
  void reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    close();
  }

 private:
  // False at the end of the connection.
  bool read() {
    char buffer[16384];
    boost::system::error_code ec;
    const size_t n = socket_.read_some(boost::asio::buffer(buffer), ec);
    input_.append(buffer, n);
    ended_ = ended_ || (ec && ec != boost::asio::error::would_block);
    return !ended_;
  }
  // Lets the server work until `done`; gives up when nothing has moved for long.
  void pump(const std::function<bool()>& done) {
    for (int i = 0; i < 2000 && !done(); ++i) {
      harness_.settle();
      pollfd waiting{socket_.native_handle(), POLLIN, 0};
      if (i > 100) ::poll(&waiting, 1, 1);
    }
  }

  Harness& harness_;
  boost::asio::ip::tcp::socket socket_;
  std::string input_;
  bool ended_ = false;
};

}  // namespace drom::testing
