// Servers for tests of HTTP clients that a scripted one cannot be: TLS with any context, and a
// proxy that opens tunnels. All on the harness's io_context.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace drom::testing {

// Answers every request (without a body) of every connection with one text.
class TlsServer {
 public:
  TlsServer(Harness& harness, std::shared_ptr<boost::asio::ssl::context> context,
            std::string answer)
      : acceptor_(harness.io(), {boost::asio::ip::address_v4::loopback(), 0}),
        context_(std::move(context)),
        answer_(std::move(answer)) {
    accept();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void stop() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (auto& peer : peers_) peer->stream.lowest_layer().close(ignored);
  }
  size_t connections() const { return peers_.size(); }
  std::vector<std::string> requests;

 private:
  struct Peer {
    Peer(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& context)
        : stream(std::move(socket), context) {}
    boost::asio::ssl::stream<boost::asio::ip::tcp::socket> stream;
    std::string input;
    char buffer[4096];
  };
  void accept() {
    acceptor_.async_accept(
        [this](const boost::system::error_code& ec, boost::asio::ip::tcp::socket socket) {
          if (ec) return;
          socket.set_option(boost::asio::ip::tcp::no_delay(true));
          auto peer = std::make_shared<Peer>(std::move(socket), *context_);
          peers_.push_back(peer);
          peer->stream.async_handshake(boost::asio::ssl::stream_base::server,
                                       [this, peer](const boost::system::error_code& failed) {
                                         boost::system::error_code ignored;
                                         if (failed)
                                           peer->stream.lowest_layer().close(ignored);
                                         else
                                           read(peer);
                                       });
          accept();
        });
  }
  void read(const std::shared_ptr<Peer>& peer) {
    peer->stream.async_read_some(
        boost::asio::buffer(peer->buffer),
        [this, peer](const boost::system::error_code& ec, size_t n) {
          if (ec) return;
          peer->input.append(peer->buffer, n);
          const size_t end = peer->input.find("\r\n\r\n");
          if (end == std::string::npos) return read(peer);
          requests.push_back(peer->input.substr(0, end + 4));
          peer->input.erase(0, end + 4);
          boost::asio::async_write(peer->stream, boost::asio::buffer(answer_),
                                   [this, peer](const boost::system::error_code& failed, size_t) {
                                     if (!failed) read(peer);
                                   });
        });
  }

  boost::asio::ip::tcp::acceptor acceptor_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::string answer_;
  std::vector<std::shared_ptr<Peer>> peers_;
};

// Reads CONNECT, answers with `answer`, and when that is 200 passes bytes to 127.0.0.1:`port`.
class TunnelProxy {
 public:
  TunnelProxy(Harness& harness, uint16_t port, std::string answer)
      : acceptor_(harness.io(), {boost::asio::ip::address_v4::loopback(), 0}),
        port_(port),
        answer_(std::move(answer)) {
    accept();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void stop() {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    for (auto& pair : pairs_) {
      pair->near.close(ignored);
      pair->far.close(ignored);
    }
  }
  std::vector<std::string> requests;

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Pair {
    explicit Pair(Socket s) : near(std::move(s)), far(near.get_executor()) {}
    Socket near;
    Socket far;
    std::string input;
    char up[4096];
    char down[4096];
  };
  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& ec, Socket socket) {
      if (ec) return;
      socket.set_option(boost::asio::ip::tcp::no_delay(true));
      auto pair = std::make_shared<Pair>(std::move(socket));
      pairs_.push_back(pair);
      head(pair);
      accept();
    });
  }
  void head(const std::shared_ptr<Pair>& pair) {
    pair->near.async_read_some(
        boost::asio::buffer(pair->up), [this, pair](const boost::system::error_code& ec, size_t n) {
          if (ec) return;
          pair->input.append(pair->up, n);
          if (pair->input.find("\r\n\r\n") == std::string::npos) return head(pair);
          requests.push_back(pair->input);
          boost::system::error_code ignored;
          boost::asio::write(pair->near, boost::asio::buffer(answer_), ignored);
          if (answer_.find(" 200 ") == std::string::npos) return;
          pair->far.connect({boost::asio::ip::address_v4::loopback(), port_}, ignored);
          pair->far.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
          pass(pair, pair->near, pair->far, pair->up);
          pass(pair, pair->far, pair->near, pair->down);
        });
  }
  void pass(const std::shared_ptr<Pair>& pair, Socket& from, Socket& to, char (&buffer)[4096]) {
    from.async_read_some(
        boost::asio::buffer(buffer),
        [this, pair, &from, &to, &buffer](const boost::system::error_code& ec, size_t n) {
          boost::system::error_code failed;
          if (ec) return to.close(failed), void();
          boost::asio::write(to, boost::asio::buffer(buffer, n), failed);
          if (!failed) pass(pair, from, to, buffer);
        });
  }

  boost::asio::ip::tcp::acceptor acceptor_;
  uint16_t port_;
  std::string answer_;
  std::vector<std::shared_ptr<Pair>> pairs_;
};

}  // namespace drom::testing
