// Value is the one dynamic type of the engine: header values, properties, JSON documents, SQL
// parameters and rows, message bodies. Numbers survive exactly: what is not an int64 and was read
// from text keeps its digits (`Decimal`). Lists and objects are copy-on-write, so copying a Value
// is cheap. Not synchronised; copies may go to other threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "drom/base/bytes.hpp"
#include "drom/base/error.hpp"
#include "drom/base/time.hpp"

namespace drom {

class Value;

// A number that is no int64, with the digits it was written with ("1.10", "12345678901234567890").
struct Decimal {
  std::string digits;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};

using List = std::vector<Value>;

class Object;

class Value {
 public:
  // The order is the order of the variant below.
  enum class Kind : uint8_t {
    null,
    boolean,
    integer,
    real,
    decimal,
    text,
    bytes,
    time,
    list,
    object
  };

  Value() = default;
  Value(std::nullptr_t) {}                                // NOLINT: implicit
  Value(bool v) : data_(v) {}                             // NOLINT: implicit
  Value(int v) : data_(int64_t{v}) {}                     // NOLINT: implicit
  Value(int64_t v) : data_(v) {}                          // NOLINT: implicit
  Value(long long v) : data_(static_cast<int64_t>(v)) {}  // NOLINT: implicit
  Value(double v) : data_(v) {}                           // NOLINT: implicit
  Value(Decimal v) : data_(std::move(v)) {}               // NOLINT: implicit
  Value(std::string v) : data_(std::move(v)) {}           // NOLINT: implicit
  Value(std::string_view v) : data_(std::string(v)) {}    // NOLINT: implicit
  Value(const char* v) : data_(std::string(v)) {}         // NOLINT: implicit
  Value(Bytes v) : data_(std::move(v)) {}                 // NOLINT: implicit
  Value(WallTime v) : data_(v) {}                         // NOLINT: implicit
  Value(List v);                                          // NOLINT: implicit
  Value(Object v);                                        // NOLINT: implicit

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::null; }
  bool is_bool() const { return kind() == Kind::boolean; }
  bool is_int() const { return kind() == Kind::integer; }
  bool is_text() const { return kind() == Kind::text; }
  bool is_bytes() const { return kind() == Kind::bytes; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_number() const {
    return kind() == Kind::integer || kind() == Kind::real || kind() == Kind::decimal;
  }

  // Typed access without conversion: nullptr when the kind differs.
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&data_); }
  const double* as_real() const { return std::get_if<double>(&data_); }
  const Decimal* as_decimal() const { return std::get_if<Decimal>(&data_); }
  const std::string* as_text() const { return std::get_if<std::string>(&data_); }
  const Bytes* as_bytes() const { return std::get_if<Bytes>(&data_); }
  const WallTime* as_time() const { return std::get_if<WallTime>(&data_); }
  const List* as_list() const {
    const auto* p = std::get_if<std::shared_ptr<List>>(&data_);
    return p ? p->get() : nullptr;
  }
  const Object* as_object() const {
    const auto* p = std::get_if<std::shared_ptr<Object>>(&data_);
    return p ? p->get() : nullptr;
  }
  // For change: unshares first. The kind must match.
  List& list();
  Object& object();
  std::string& text();

  // Text or bytes, as they are; empty view for other kinds.
  std::string_view raw() const;

  // Conversions. They fail rather than round or guess.
  std::string to_text() const;              // JSON for lists and objects; "" for null
  std::optional<int64_t> to_int() const;    // from integers, whole decimals, digits in text
  std::optional<double> to_double() const;  // from any number or numeric text
  std::optional<bool> to_bool() const;      // from bool or the texts true/false (any case)

  // Equal kind and value; numbers of different kinds compare by value.
  friend bool operator==(const Value& a, const Value& b);

 private:
  std::variant<std::monostate, bool, int64_t, double, Decimal, std::string, Bytes, WallTime,
               std::shared_ptr<List>, std::shared_ptr<Object>>
      data_;
};

// Keeps insertion order; lookup is linear, which wins for the sizes that messages have.
class Object {
 public:
  using Entry = std::pair<std::string, Value>;

  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  void set(std::string_view key, Value value);  // replaces or appends
  void append(std::string key, Value value);    // the caller knows that the key is new
  bool erase(std::string_view key);
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  void reserve(size_t n) { entries_.reserve(n); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  auto begin() { return entries_.begin(); }
  auto end() { return entries_.end(); }
  friend bool operator==(const Object& a, const Object& b);

 private:
  std::vector<Entry> entries_;
};

inline Value::Value(List v) : data_(std::make_shared<List>(std::move(v))) {}
inline Value::Value(Object v) : data_(std::make_shared<Object>(std::move(v))) {}

std::string_view to_string(Value::Kind kind);

}  // namespace drom
