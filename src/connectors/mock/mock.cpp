#include "drom/connectors/mock.hpp"

#include <algorithm>

#include "drom/base/json.hpp"

namespace drom {
namespace {

// A forgotten mock in a long run must not eat the memory; counting goes on beyond.
constexpr size_t kKeptMax = 100'000;

std::string shown(const Value& value) {
  if (value.is_bytes()) return to_json(Value(value.raw()));
  return to_json(value);
}

bool same_document(const Value& expected, std::string_view text) {
  const Result<Value> parsed = parse_json(text);
  return parsed.ok() && *parsed == expected;
}

bool has_value(const Value* actual, const Value& expected) {
  return actual && matches_expected(expected, *actual);
}

}  // namespace

bool matches_expected(const Value& expected, const Value& actual) {
  if (expected == actual) return true;
  const bool raw_expected = expected.is_text() || expected.is_bytes();
  const bool raw_actual = actual.is_text() || actual.is_bytes();
  if (raw_expected && raw_actual) return expected.raw() == actual.raw();
  if ((expected.is_list() || expected.is_object()) && raw_actual)
    return same_document(expected, actual.raw());
  if (raw_expected && (actual.is_list() || actual.is_object()))
    return same_document(actual, expected.raw());
  if (expected.is_null() || actual.is_null()) return false;
  // What follows is scalars: 7 and "7".
  if (expected.is_list() || expected.is_object() || actual.is_list() || actual.is_object())
    return false;
  return expected.to_text() == actual.to_text();
}

void Mock::expect_count(size_t count) {
  const std::lock_guard lock(mutex_);
  expected_.count = count;
}

void Mock::expect_minimum_count(size_t count) {
  const std::lock_guard lock(mutex_);
  expected_.minimum_count = count;
}

void Mock::expect_bodies(List bodies) {
  const std::lock_guard lock(mutex_);
  expected_.bodies = std::move(bodies);
}

void Mock::expect_bodies_in_any_order(List bodies) {
  const std::lock_guard lock(mutex_);
  expected_.bodies_any_order = std::move(bodies);
}

void Mock::expect_header(std::string name, Value value) {
  std::string what = "has header " + name + " = " + shown(value);
  expect_every(std::move(what),
               [name = std::move(name), value = std::move(value)](const Exchange& e) {
                 return has_value(e.message.headers.find(name), value);
               });
}

void Mock::expect_property(std::string name, Value value) {
  std::string what = "has property " + name + " = " + shown(value);
  expect_every(std::move(what),
               [name = std::move(name), value = std::move(value)](const Exchange& e) {
                 return has_value(e.properties.find(name), value);
               });
}

void Mock::expect_message(size_t index, std::string what, Predicate predicate) {
  const std::lock_guard lock(mutex_);
  expected_.checks.push_back(Check{index, std::move(what), std::move(predicate)});
}

void Mock::expect_every(std::string what, Predicate predicate) {
  const std::lock_guard lock(mutex_);
  expected_.checks.push_back(Check{std::nullopt, std::move(what), std::move(predicate)});
}

Result<void> Mock::expect(const Object& description) {
  const auto wrong = [&](const std::string& key, std::string_view form) {
    return Error(ErrorKind::config,
                 "mock:" + name_ + ": '" + key + "' must be " + std::string(form));
  };
  for (const auto& [key, value] : description) {
    if (key == "count" || key == "minimumCount") {
      const int64_t* number = value.as_int();
      if (!number || *number < 0) return wrong(key, "a number from 0 on");
      key == "count" ? expect_count(static_cast<size_t>(*number))
                     : expect_minimum_count(static_cast<size_t>(*number));
    } else if (key == "bodies" || key == "bodiesInAnyOrder") {
      const List* list = value.as_list();
      if (!list) return wrong(key, "a list");
      key == "bodies" ? expect_bodies(*list) : expect_bodies_in_any_order(*list);
    } else if (key == "headers" || key == "properties") {
      const Object* object = value.as_object();
      if (!object) return wrong(key, "a map of names to values");
      for (const auto& [name, member] : *object)
        key == "headers" ? expect_header(name, member) : expect_property(name, member);
    } else {
      return Error(ErrorKind::config, "mock:" + name_ + ": unknown expectation '" + key + "'",
                   did_you_mean(key, {"count", "minimumCount", "bodies", "bodiesInAnyOrder",
                                      "headers", "properties"}));
    }
  }
  return {};
}

std::vector<std::string> Mock::problems() const {
  const std::lock_guard lock(mutex_);
  return problems_locked();
}

bool Mock::wait(std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return problems_locked().empty(); });
}

std::vector<std::string> Mock::problems_locked() const {
  std::vector<std::string> out;
  const auto messages = [](size_t n) {
    return std::to_string(n) + (n == 1 ? " message" : " messages");
  };
  if (expected_.count && count_ != *expected_.count)
    out.push_back("expected " + messages(*expected_.count) + ", got " + std::to_string(count_));
  if (count_ < expected_.minimum_count)
    out.push_back("expected at least " + messages(expected_.minimum_count) + ", got " +
                  std::to_string(count_));
  if (expected_.bodies) check_bodies(*expected_.bodies, false, out);
  if (expected_.bodies_any_order) check_bodies(*expected_.bodies_any_order, true, out);
  for (const Check& check : expected_.checks) {
    if (check.index && *check.index >= received_.size()) {
      out.push_back("message " + std::to_string(*check.index) + " has not come");
      continue;
    }
    const size_t first = check.index.value_or(0);
    const size_t end = check.index ? first + 1 : received_.size();
    for (size_t i = first; i < end; ++i)
      if (!check.predicate(received_[i]))
        out.push_back("message " + std::to_string(i) + ": not true that it " + check.what);
  }
  return out;
}

void Mock::check_bodies(const List& expected, bool any_order, std::vector<std::string>& out) const {
  if (received_.size() != expected.size()) {
    out.push_back("expected " + std::to_string(expected.size()) + " bodies, got " +
                  std::to_string(received_.size()));
    return;
  }
  std::vector<bool> used(received_.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!any_order) {
      const Value& actual = received_[i].message.body;
      if (!matches_expected(expected[i], actual))
        out.push_back("body of message " + std::to_string(i) + ": expected " + shown(expected[i]) +
                      ", got " + shown(actual));
      continue;
    }
    size_t at = 0;
    while (at < used.size() &&
           (used[at] || !matches_expected(expected[i], received_[at].message.body)))
      ++at;
    if (at < used.size()) {
      used[at] = true;
    } else {
      out.push_back("no message has the body " + shown(expected[i]));
    }
  }
}

size_t Mock::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

size_t Mock::attempts() const {
  const std::lock_guard lock(mutex_);
  return attempts_;
}

Exchange Mock::received(size_t index) const {
  const std::lock_guard lock(mutex_);
  DROM_ASSERT(index < received_.size());
  return received_[index].copy();
}

std::vector<Value> Mock::bodies() const {
  const std::lock_guard lock(mutex_);
  std::vector<Value> out;
  for (const Exchange& exchange : received_) out.push_back(exchange.message.body);
  return out;
}

void Mock::reply(std::function<void(Exchange&)> function) {
  const std::lock_guard lock(mutex_);
  reply_ = std::move(function);
}

void Mock::fail_next(size_t count, Error error) {
  const std::lock_guard lock(mutex_);
  failures_left_ = count;
  failure_ = std::move(error);
}

void Mock::fail_when(Predicate predicate, Error error) {
  const std::lock_guard lock(mutex_);
  fail_when_ = std::move(predicate);
  fail_when_error_ = std::move(error);
}

void Mock::delay_next(size_t count, std::chrono::milliseconds delay) {
  const std::lock_guard lock(mutex_);
  delays_left_ = count;
  delay_ = delay;
}

void Mock::retain_first(size_t count) {
  const std::lock_guard lock(mutex_);
  retain_first_ = count;
}

void Mock::retain_last(size_t count) {
  const std::lock_guard lock(mutex_);
  retain_last_ = count;
}

void Mock::reset() {
  const std::lock_guard lock(mutex_);
  expected_ = Expectations();
  received_.clear();
  count_ = attempts_ = failures_left_ = delays_left_ = 0;
  retain_first_.reset();
  retain_last_.reset();
  reply_ = nullptr;
  fail_when_ = nullptr;
}

Mock::Decision Mock::arrive(const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  ++attempts_;
  Decision decision;
  if (delays_left_ > 0) {
    --delays_left_;
    decision.delay = delay_;
  }
  if (failures_left_ > 0) {
    --failures_left_;
    decision.error = failure_;
  } else if (fail_when_ && fail_when_(exchange)) {
    decision.error = fail_when_error_;
  }
  decision.reply = reply_;
  changed_.notify_all();
  return decision;
}

void Mock::take(const Exchange& exchange) {
  const std::lock_guard lock(mutex_);
  ++count_;
  const bool keep = !retain_first_ || received_.size() < *retain_first_;
  if (keep) {
    if (retain_last_ && received_.size() >= *retain_last_ && !received_.empty())
      received_.erase(received_.begin());
    if (received_.size() < std::min(kKeptMax, retain_last_.value_or(kKeptMax))) {
      Exchange copy = exchange.copy();
      copy.unit = nullptr;  // it ends before the test looks
      received_.push_back(std::move(copy));
    }
  }
  changed_.notify_all();
}

Mock& Mocks::get(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto it = mocks_.find(name); it != mocks_.end()) return *it->second;
  std::string key(name);
  auto mock = std::make_unique<Mock>(key);
  return *mocks_.emplace(std::move(key), std::move(mock)).first->second;
}

std::vector<std::string> Mocks::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, ignored] : mocks_) out.push_back(name);
  return out;
}

std::vector<std::string> Mocks::problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, mock] : mocks_)
    for (const std::string& problem : mock->problems())
      out.push_back("mock:" + name + ": " + problem);
  return out;
}

void Mocks::reset() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, mock] : mocks_) mock->reset();
}

Mocks& mocks(Registry& registry) {
  Mocks* const found = registry.find<Mocks>("mocks");
  DROM_ASSERT(found);
  return *found;
}

}  // namespace drom
