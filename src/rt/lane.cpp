#include "rt/lane.hpp"

#include <pthread.h>

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace drom {
namespace {

namespace asio = boost::asio;

// The caller that waits. (any_completion_handler of Boost 1.81 recurses for ever when it is
// assigned.)
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void resume() = 0;
};

template <class Handler>
class HandlerWaiter final : public Waiter {
 public:
  explicit HandlerWaiter(Handler handler) : handler_(std::move(handler)) {}
  void resume() override { std::move(handler_)(); }

 private:
  Handler handler_;
};

// Keeps the io_context running while the lane still owes it an answer.
using Guard = asio::executor_work_guard<asio::io_context::executor_type>;

// How many callers of one shard wait for lanes: kept with its io_context. Shard thread.
class LaneActivity final : public asio::execution_context::service {
 public:
  static inline asio::execution_context::id id;
  explicit LaneActivity(asio::execution_context& owner) : service(owner) {}
  size_t calls = 0;

 private:
  void shutdown() override {}
};

class CountedCall {
 public:
  explicit CountedCall(asio::io_context& io) : activity_(asio::use_service<LaneActivity>(io)) {
    ++activity_.calls;
  }
  ~CountedCall() { --activity_.calls; }
  CountedCall(const CountedCall&) = delete;

 private:
  LaneActivity& activity_;
};

}  // namespace

size_t lane_calls_in_flight(asio::io_context& shard) {
  return asio::use_service<LaneActivity>(shard).calls;
}

struct Lane::State {
  // Either a job that somebody waits for, or work alone.
  struct Entry {
    Job* job = nullptr;
    std::unique_ptr<Waiter> waiter;
    std::optional<Guard> guard;
    std::function<void()> work;
  };

  asio::io_context& shard;
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Entry> queue;
  bool closing = false;
  std::thread thread;

  explicit State(asio::io_context& io) : shard(io) {}

  void add(Entry entry) {
    {
      const std::lock_guard lock(mutex);
      queue.push_back(std::move(entry));
    }
    wake.notify_one();
  }

  void loop() {
    std::vector<Entry> batch;
    while (true) {
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return closing || !queue.empty(); });
        if (queue.empty()) return;
        batch.swap(queue);
      }
      for (Entry& entry : batch) run(entry);
      batch.clear();
    }
  }

  void run(Entry& entry) {
    if (!entry.job) {
      entry.work();
      return;
    }
    entry.job->run();
    // From here on the frame, and the job in it, belong to the shard again.
    asio::post(shard, [waiter = std::move(entry.waiter), guard = std::move(entry.guard)] {
      waiter->resume();
    });
  }
};

Lane::Lane(asio::io_context& shard, std::string name) : state_(std::make_unique<State>(shard)) {
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
  pthread_setname_np(state_->thread.native_handle(), name.substr(0, 15).c_str());
}

Lane::~Lane() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->closing = true;
  }
  state_->wake.notify_one();
  state_->thread.join();
}

void Lane::push(std::function<void()> work) {
  State::Entry entry;
  entry.work = std::move(work);
  state_->add(std::move(entry));
}

async<> Lane::run(Job& job) {
  const CountedCall counted(state_->shard);
  auto start = [state = state_.get(), &job](auto handler) {
    State::Entry entry;
    entry.job = &job;
    entry.waiter = std::make_unique<HandlerWaiter<decltype(handler)>>(std::move(handler));
    entry.guard.emplace(state->shard.get_executor());
    state->add(std::move(entry));
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(start, asio::use_awaitable);
}

}  // namespace drom
