// A server of raw bytes for tests of clients. Runs on the harness's io_context.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace drom::testing {

// A server of raw bytes: answers the n-th request of all connections with the n-th script line. ""
// ends the connection instead.
class ScriptedServer {
 public:
  ScriptedServer(Harness& harness, std::vector<std::string> script_lines)
      : script(std::move(script_lines)),
        acceptor_(harness.io(),
                  boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    accept();
  }
  uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void stop() {
    acceptor_.close();
    for (auto& connection : connections) connection->socket.close();
  }
  // As a server does that has waited long enough.
  void close_connections() {
    for (auto& connection : connections) connection->socket.close();
  }

  struct Peer {
    explicit Peer(boost::asio::ip::tcp::socket s) : socket(std::move(s)) {}
    boost::asio::ip::tcp::socket socket;
    std::string input;
    char buffer[4096];
  };
  std::vector<std::shared_ptr<Peer>> connections;
  std::vector<std::string> requests;
  std::vector<std::string> script;

 private:
  void accept() {
    acceptor_.async_accept(
        [this](const boost::system::error_code& ec, boost::asio::ip::tcp::socket socket) {
          if (ec) return;
          connections.push_back(std::make_shared<Peer>(std::move(socket)));
          read(connections.back());
          accept();
        });
  }
  void read(const std::shared_ptr<Peer>& peer) {
    peer->socket.async_read_some(boost::asio::buffer(peer->buffer),
                                 [this, peer](const boost::system::error_code& ec, size_t n) {
                                   if (ec) return;
                                   peer->input.append(peer->buffer, n);
                                   answer(*peer);
                                   if (peer->socket.is_open()) read(peer);
                                 });
  }
  void answer(Peer& peer) {
    const size_t end = peer.input.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const size_t at = peer.input.find("Content-Length: ");
    size_t length = at < end ? std::stoul(peer.input.substr(at + 16)) : 0;
    if (peer.input.find("Transfer-Encoding: chunked") < end) {
      const size_t last = peer.input.find("\r\n0\r\n\r\n", end + 2);
      if (last == std::string::npos) return;
      length = last + 7 - (end + 4);
    }
    if (peer.input.size() < end + 4 + length) return;
    requests.push_back(peer.input.substr(0, end + 4 + length));
    peer.input.erase(0, end + 4 + length);
    if (requests.size() > script.size()) return;  // says nothing at all
    const std::string& line = script[requests.size() - 1];
    boost::system::error_code ignored;
    if (line.empty())
      peer.socket.close(ignored);
    else
      peer.socket.send(boost::asio::buffer(line), 0, ignored);
  }

  boost::asio::ip::tcp::acceptor acceptor_;
};

}  // namespace drom::testing
