#include "chaos/fault_proxy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include "chaos/http_io.hpp"

namespace drom::chaos {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kLook{5};  // how often a black hole looks whether it is one still

void close_hard(tcp::socket& socket) {
  ErrorCode ec;
  socket.set_option(asio::socket_base::linger(true, 0), ec);
  socket.close(ec);
}

}  // namespace

struct FaultProxy::State {
  struct Link;
  // One direction of a connection: reads a piece, treats it as the mode says, writes it.
  struct Pump {
    Pump(Link& owner, tcp::socket& source, tcp::socket& target, bool is_reply)
        : link(owner), from(source), to(target), reply(is_reply), timer(source.get_executor()) {}
    Link& link;
    tcp::socket& from;
    tcp::socket& to;
    bool reply;
    asio::steady_timer timer;
    std::array<char, 16 * 1024> data;
    size_t begin = 0;
    size_t end = 0;
    std::string tail;  // of the previous piece, where a searched text may begin
  };

  struct Link : std::enable_shared_from_this<Link> {
    Link(State& s, tcp::socket c)
        : state(s),
          client(std::move(c)),
          server(s.io),
          up(*this, client, server, false),
          down(*this, server, client, true) {}

    void start() {
      ErrorCode ec;
      client.set_option(tcp::no_delay(true), ec);
      server.async_connect({asio::ip::address_v4::loopback(), state.upstream},
                           [self = shared_from_this()](const ErrorCode& failed) {
                             if (failed) {
                               self->end(true);
                               return;
                             }
                             ErrorCode ignored;
                             self->server.set_option(tcp::no_delay(true), ignored);
                             self->read(self->up);
                             self->read(self->down);
                           });
    }

    void end(bool hard) {
      if (ended) return;
      ended = true;
      up.timer.cancel();
      down.timer.cancel();
      if (hard) {
        close_hard(client);
        close_hard(server);
      } else {
        ErrorCode ec;
        client.close(ec);
        server.close(ec);
      }
      state.links.erase(shared_from_this());
    }

    void read(Pump& pump) {
      pump.from.async_read_some(asio::buffer(pump.data), [self = shared_from_this(), &pump](
                                                             const ErrorCode& ec, size_t got) {
        if (ec) {
          self->end(false);
          return;
        }
        pump.begin = 0;
        pump.end = got;
        if (pump.reply && self->cut(pump)) return;
        self->pass_on(pump);
      });
    }

    // True: the connection has ended.
    bool cut(Pump& pump) {
      const size_t size = pump.end - pump.begin;
      if (!state.cut_text.empty()) {
        const std::string text = pump.tail + std::string(pump.data.data() + pump.begin, size);
        if (text.find(state.cut_text) != std::string::npos) {
          state.cut_text.clear();
          ++state.cuts;
          end(true);
          return true;
        }
        const size_t keep = std::min(text.size(), state.cut_text.size() - 1);
        pump.tail = text.substr(text.size() - keep);
      }
      if (state.cut_armed) {
        if (state.cut_bytes < size) {
          state.cut_armed = false;
          ++state.cuts;
          ErrorCode ec;
          asio::write(client, asio::buffer(pump.data.data() + pump.begin, state.cut_bytes), ec);
          end(true);
          return true;
        }
        state.cut_bytes -= size;
      }
      return false;
    }

    void pass_on(Pump& pump) {
      if (ended) return;
      const ProxyFault& now = state.fault;
      const size_t size = pump.end - pump.begin;
      switch (now.mode) {
        case ProxyMode::down:
        case ProxyMode::reset: end(true); return;
        case ProxyMode::blackhole: wait(pump, kLook, 0); return;
        case ProxyMode::mute:
          if (pump.reply)
            wait(pump, kLook, 0);
          else
            write(pump, size);
          return;
        case ProxyMode::slice: write(pump, 1); return;
        case ProxyMode::delay: wait(pump, now.delay, size); return;
        case ProxyMode::bandwidth: {
          // A twentieth of a second's worth at a time.
          const size_t piece = std::min(size, std::max<size_t>(1, now.bytes_per_second / 20));
          wait(pump, milliseconds(piece * 1000 / now.bytes_per_second), piece);
          return;
        }
        case ProxyMode::pass: write(pump, size); return;
      }
    }

    // Writes `size` bytes after the pause; 0: looks at the mode again.
    void wait(Pump& pump, milliseconds pause, size_t size) {
      pump.timer.expires_after(pause);
      pump.timer.async_wait([self = shared_from_this(), &pump, size](const ErrorCode& ec) {
        if (ec || self->ended) return;
        if (size == 0)
          self->pass_on(pump);
        else
          self->write(pump, size);
      });
    }

    void write(Pump& pump, size_t size) {
      asio::async_write(pump.to, asio::buffer(pump.data.data() + pump.begin, size),
                        [self = shared_from_this(), &pump](const ErrorCode& ec, size_t sent) {
                          if (ec) {
                            self->end(false);
                            return;
                          }
                          pump.begin += sent;
                          if (pump.begin < pump.end)
                            self->pass_on(pump);
                          else
                            self->read(pump);
                        });
    }

    State& state;
    tcp::socket client;
    tcp::socket server;
    Pump up;
    Pump down;
    bool ended = false;
  };

  State(uint16_t upstream_port, uint16_t own_port) : upstream(upstream_port), acceptor(io) {
    listen(own_port != 0 ? own_port : free_port());
  }

  void listen(uint16_t wanted) {
    acceptor.open(tcp::v4());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind({asio::ip::address_v4::loopback(), wanted});
    acceptor.listen();
    port = wanted;
    accept();
  }

  void accept() {
    acceptor.async_accept([this](const ErrorCode& ec, tcp::socket socket) {
      if (ec) return;
      ++connections;
      const auto link = std::make_shared<Link>(*this, std::move(socket));
      links.insert(link);
      link->start();
      accept();
    });
  }

  void apply(ProxyFault wanted) {
    fault = wanted;
    const bool closed = fault.mode == ProxyMode::down;
    if (closed || fault.mode == ProxyMode::reset) end_links();
    ErrorCode ec;
    if (closed) acceptor.close(ec);
    if (!closed && !acceptor.is_open()) listen(port);
  }

  void end_links() {
    const std::set<std::shared_ptr<Link>> all = links;
    for (const auto& link : all) link->end(true);
  }

  // Runs `work` on the proxy's thread and waits for it.
  void run(std::function<void()> work) {
    std::promise<void> done;
    asio::post(io, [&] {
      work();
      done.set_value();
    });
    done.get_future().wait();
  }

  asio::io_context io{1};
  uint16_t upstream;
  tcp::acceptor acceptor;
  uint16_t port = 0;
  std::set<std::shared_ptr<Link>> links;
  ProxyFault fault;
  std::string cut_text;
  bool cut_armed = false;
  size_t cut_bytes = 0;
  std::atomic<uint64_t> cuts{0};
  std::atomic<uint64_t> connections{0};
  std::thread thread;
};

FaultProxy::FaultProxy(uint16_t upstream_port, uint16_t port)
    : state_(std::make_shared<State>(upstream_port, port)) {
  state_->thread = std::thread([state = state_.get()] {
    const auto guard = asio::make_work_guard(state->io);
    state->io.run();
  });
}

FaultProxy::~FaultProxy() {
  state_->run([this] {
    ErrorCode ec;
    state_->acceptor.close(ec);
    state_->end_links();
    state_->io.stop();
  });
  state_->thread.join();
}

uint16_t FaultProxy::port() const { return state_->port; }
uint64_t FaultProxy::cuts() const { return state_->cuts; }
uint64_t FaultProxy::connections() const { return state_->connections; }

void FaultProxy::set(ProxyFault fault) {
  state_->run([this, fault] { state_->apply(fault); });
}

void FaultProxy::cut_reply_after(size_t bytes) {
  state_->run([this, bytes] {
    state_->cut_armed = true;
    state_->cut_bytes = bytes;
  });
}

void FaultProxy::cut_reply_at(std::string text) {
  state_->run([this, &text] { state_->cut_text = std::move(text); });
}

const char* to_string(ProxyMode mode) {
  switch (mode) {
    case ProxyMode::pass: return "pass";
    case ProxyMode::down: return "down";
    case ProxyMode::blackhole: return "blackhole";
    case ProxyMode::reset: return "reset";
    case ProxyMode::slice: return "slice";
    case ProxyMode::delay: return "delay";
    case ProxyMode::mute: return "mute";
    case ProxyMode::bandwidth: return "bandwidth";
  }
  return "?";
}

}  // namespace drom::chaos
