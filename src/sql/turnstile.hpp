// A first-come queue for a few places: the one writer of SQLite, the connections of a pool, the one
// call at a time on a transaction. Who waits too long leaves. Shard thread only.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "drom/rt/clock.hpp"

namespace drom::sql {

class Turnstile {
  struct State;

 public:
  explicit Turnstile(size_t places);

  // A place, given back when it is destroyed: the longest waiting gets it. May outlive the
  // turnstile.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Permit& operator=(Permit&& other) noexcept {
      if (this != &other) {
        release();
        state_ = std::exchange(other.state_, nullptr);
      }
      return *this;
    }
    ~Permit() { release(); }
    explicit operator bool() const { return state_ != nullptr; }
    void release();

   private:
    friend class Turnstile;
    explicit Permit(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
  };

  // nullopt: no place within `timeout`. Without waiting when a place is free.
  async<std::optional<Permit>> enter(Clock& clock, milliseconds timeout);

 private:
  struct Waiter;
  std::shared_ptr<State> state_;
};

}  // namespace drom::sql
