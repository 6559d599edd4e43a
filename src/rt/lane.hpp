// A thread of its own for a library that blocks (SQLite, files): work runs there in the order it
// was given, and the caller goes on afterwards on the shard. One hop there and back costs about 10
// us, so hand over batches. Owned by a shard's object; all members on the shard thread, the work on
// the lane.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "drom/rt/async.hpp"

namespace boost::asio {
class io_context;
}

namespace drom {

// Calls of this shard that lanes have not answered yet: virtual time must not move while real work
// is under way. Shard thread.
size_t lane_calls_in_flight(boost::asio::io_context& shard);

class Lane {
 public:
  // `shard` outlives the lane. `name` shows up in debuggers and `top -H` (15 characters).
  Lane(boost::asio::io_context& shard, std::string name);
  // Finishes what was handed over, then joins. Waits as long as that takes.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Runs `function` on the lane and returns its result on the shard. Cancelling the caller does not
  // interrupt the work: the caller unwinds after it, at its next co_await. What `function` throws
  // is rethrown here. `function` must own what it uses or refer to what the awaiting frame owns.
  template <class F>
  async<std::invoke_result_t<F&>> call(F function) {
    Call<F> job(std::move(function));
    co_await run(job);
    co_return job.take();
  }

  // Hands over work that nobody waits for: cleaning up from a destructor. Must not throw.
  void push(std::function<void()> work);

 private:
  class Job {
   public:
    virtual ~Job() = default;
    virtual void run() = 0;
  };
  template <class F>
  class Call;
  async<> run(Job& job);

  struct State;
  std::unique_ptr<State> state_;
};

// Lives in the awaiting frame, which stays until the lane has run it.
template <class F>
class Lane::Call final : public Job {
  using R = std::invoke_result_t<F&>;

 public:
  explicit Call(F function) : function_(std::move(function)) {}
  void run() override {
    try {
      if constexpr (std::is_void_v<R>) {
        function_();
      } else {
        result_.emplace(function_());
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  R take() {
    if (failure_) std::rethrow_exception(failure_);
    if constexpr (!std::is_void_v<R>) return std::move(*result_);
  }

 private:
  struct Nothing {};
  F function_;
  std::conditional_t<std::is_void_v<R>, Nothing, std::optional<R>> result_;
  std::exception_ptr failure_;
};

}  // namespace drom
