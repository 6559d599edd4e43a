// mock: endpoints keep what they get, so that a test can say what should have come and ask whether
// it did; and they can answer, fail or be slow on demand. All mocks of an engine are in one Mocks,
// bound in its Registry: `mocks(engine.registry()).get("result")` is the Mock behind `to:
// mock:result`, also before the routes are built. Any thread: the routes run on their shard, the
// test elsewhere.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drom/model/exchange.hpp"
#include "drom/spi/registry.hpp"

namespace drom {

class Mock {
 public:
  using Predicate = std::function<bool(const Exchange&)>;

  explicit Mock(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  // What should come. Expectations add up; reset() forgets them.
  void expect_count(size_t count);
  void expect_minimum_count(size_t count);
  void expect_bodies(List bodies);                      // exactly these, in this order
  void expect_bodies_in_any_order(List bodies);         // exactly these
  void expect_header(std::string name, Value value);    // on every message
  void expect_property(std::string name, Value value);  // on every message
  // `what` completes "message 0 ..." in the report: "has no body".
  void expect_message(size_t index, std::string what, Predicate predicate);
  void expect_every(std::string what, Predicate predicate);
  // The same from data, for text tests: {count, minimumCount, bodies, bodiesInAnyOrder,
  // headers: {..}, properties: {..}}. An unknown key or a wrong type is an error.
  Result<void> expect(const Object& description);

  // One sentence per expectation that does not hold now; empty: all is well.
  std::vector<std::string> problems() const;
  bool satisfied() const { return problems().empty(); }
  // Blocks the calling thread, never a shard, until satisfied or the real time is up.
  bool wait(std::chrono::milliseconds timeout) const;

  // What came and was taken without an injected failure.
  size_t count() const;
  // All sends, the failed ones included.
  size_t attempts() const;
  // Copies; index counts from the oldest that is kept.
  Exchange received(size_t index) const;
  std::vector<Value> bodies() const;

  // Behaviour of the endpoint, from the next message on.
  void reply(std::function<void(Exchange&)> function);  // runs on the shard
  void fail_next(size_t count, Error error);
  void fail_when(Predicate predicate, Error error);
  void delay_next(size_t count, std::chrono::milliseconds delay);  // by the engine's clock

  // Keep only the first / the last so many messages; counting goes on.
  void retain_first(size_t count);
  void retain_last(size_t count);

  // As new: nothing received, expected, injected.
  void reset();

  // For the endpoint. `arrive` decides about one message; `take` keeps it.
  struct Decision {
    std::chrono::milliseconds delay{0};
    std::optional<Error> error;
    std::function<void(Exchange&)> reply;
  };
  Decision arrive(const Exchange& exchange);
  void take(const Exchange& exchange);

 private:
  struct Check {
    std::optional<size_t> index;  // one message, or each
    std::string what;
    Predicate predicate;
  };
  struct Expectations {
    std::optional<size_t> count;
    size_t minimum_count = 0;
    std::optional<List> bodies;
    std::optional<List> bodies_any_order;
    std::vector<Check> checks;
  };
  std::vector<std::string> problems_locked() const;
  void check_bodies(const List& expected, bool any_order, std::vector<std::string>& out) const;

  const std::string name_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Expectations expected_;
  std::vector<Exchange> received_;
  size_t count_ = 0;
  size_t attempts_ = 0;
  std::optional<size_t> retain_first_;
  std::optional<size_t> retain_last_;
  std::function<void(Exchange&)> reply_;
  size_t failures_left_ = 0;
  Error failure_;
  Predicate fail_when_;
  Error fail_when_error_;
  size_t delays_left_ = 0;
  std::chrono::milliseconds delay_{0};
};

class Mocks {
 public:
  // The mock of that name, made on first use; it lives as long as the registry.
  Mock& get(std::string_view name);
  std::vector<std::string> names() const;
  // "mock:result: expected 2 messages, got 1" for all mocks.
  std::vector<std::string> problems() const;
  void reset();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Mock>, std::less<>> mocks_;
};

// The mocks of an engine with this registry; `mock` must have been registered there.
Mocks& mocks(Registry& registry);

// Equal as a test means it: texts and bytes by content, JSON text as its document, numbers by
// digits.
bool matches_expected(const Value& expected, const Value& actual);

}  // namespace drom
