#include "spi/exception_match.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace drom {
namespace {

using Kinds = uint16_t;

constexpr Kinds bit(ErrorKind kind) {
  return static_cast<Kinds>(1U << static_cast<unsigned>(kind));
}
constexpr Kinds kNone = 0;
constexpr Kinds kData = bit(ErrorKind::data);
constexpr Kinds kTransient = bit(ErrorKind::transient);
constexpr Kinds kTimeout = bit(ErrorKind::timeout);
constexpr Kinds kNotConnected = bit(ErrorKind::not_connected);
constexpr Kinds kRejected = bit(ErrorKind::rejected);
constexpr Kinds kConfig = bit(ErrorKind::config);
constexpr Kinds kBug = bit(ErrorKind::bug);
constexpr Kinds kRetryable = kTransient | kTimeout | kNotConnected;
constexpr Kinds kAll = kRetryable | kData | kRejected | kConfig | kBug;

// What the type of an error must look like besides its kind.
enum class TypeRule : uint8_t { any, sql, sql_constraint, http };

struct JavaClass {
  std::string_view name;                   // simple name
  std::string_view parent;                 // simple name; Exception has none
  Kinds kinds = kNone;                     // kinds of our own errors that this class stands for
  ErrorKind thrown = ErrorKind::rejected;  // kind when a route throws it
  TypeRule rule = TypeRule::any;
};

// Parents before children. A class catches its descendants too.
constexpr std::array kClasses = {
    JavaClass{"Throwable", "", kAll, ErrorKind::rejected},
    JavaClass{"Exception", "Throwable", kAll, ErrorKind::rejected},
    JavaClass{"RuntimeException", "Exception", kData | kRejected | kBug | kConfig},
    JavaClass{"IOException", "Exception", kRetryable, ErrorKind::transient},
    JavaClass{"FileNotFoundException", "IOException", kNone, ErrorKind::rejected},
    JavaClass{"SocketException", "IOException", kNotConnected, ErrorKind::not_connected},
    JavaClass{"ConnectException", "SocketException", kNotConnected, ErrorKind::not_connected},
    JavaClass{"NoRouteToHostException", "SocketException", kNotConnected, ErrorKind::not_connected},
    JavaClass{"UnknownHostException", "IOException", kNotConnected, ErrorKind::not_connected},
    JavaClass{"SocketTimeoutException", "IOException", kTimeout, ErrorKind::timeout},
    JavaClass{"HttpTimeoutException", "IOException", kTimeout, ErrorKind::timeout},
    JavaClass{"TimeoutException", "Exception", kTimeout, ErrorKind::timeout},
    JavaClass{"SQLException", "Exception", kAll, ErrorKind::rejected, TypeRule::sql},
    JavaClass{"SQLTransientException", "SQLException", kRetryable, ErrorKind::transient,
              TypeRule::sql},
    JavaClass{"SQLIntegrityConstraintViolationException", "SQLException", kAll, ErrorKind::rejected,
              TypeRule::sql_constraint},
    JavaClass{"IllegalArgumentException", "RuntimeException", kData, ErrorKind::data},
    JavaClass{"NumberFormatException", "IllegalArgumentException", kNone, ErrorKind::data},
    JavaClass{"IllegalStateException", "RuntimeException", kBug},
    JavaClass{"NullPointerException", "RuntimeException", kNone},
    JavaClass{"IndexOutOfBoundsException", "RuntimeException", kNone},
    JavaClass{"ArrayIndexOutOfBoundsException", "IndexOutOfBoundsException", kNone},
    JavaClass{"UnsupportedOperationException", "RuntimeException", kNone},
    JavaClass{"JsonProcessingException", "IOException", kData, ErrorKind::data},
    JavaClass{"JsonParseException", "JsonProcessingException", kData, ErrorKind::data},
    JavaClass{"CamelException", "Exception", kNone},
    JavaClass{"CamelExchangeException", "CamelException", kNone},
    JavaClass{"ValidationException", "CamelExchangeException", kData, ErrorKind::data},
    JavaClass{"InvalidPayloadException", "CamelExchangeException", kData, ErrorKind::data},
    JavaClass{"ExchangeTimedOutException", "CamelExchangeException", kTimeout, ErrorKind::timeout},
    JavaClass{"RollbackExchangeException", "CamelExchangeException", kNone},
    JavaClass{"RuntimeCamelException", "RuntimeException", kNone},
    JavaClass{"CamelExecutionException", "RuntimeCamelException", kNone},
    JavaClass{"TypeConversionException", "RuntimeCamelException", kData, ErrorKind::data},
    JavaClass{"ExpressionEvaluationException", "RuntimeCamelException", kData, ErrorKind::data},
    JavaClass{"HttpOperationFailedException", "CamelException", kTransient | kRejected,
              ErrorKind::rejected, TypeRule::http},
};

struct KindName {
  std::string_view name;
  Kinds kinds;
};
constexpr std::array kKindNames = {
    KindName{"data", kData},         KindName{"transient", kTransient},
    KindName{"timeout", kTimeout},   KindName{"not_connected", kNotConnected},
    KindName{"rejected", kRejected}, KindName{"config", kConfig},
    KindName{"bug", kBug},           KindName{"retryable", kRetryable},
};

std::string_view simple_name(std::string_view name) {
  const size_t dot = name.find_last_of(".$");
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

const JavaClass* find_class(std::string_view name) {
  const std::string_view simple = simple_name(name);
  for (const JavaClass& entry : kClasses)
    if (entry.name == simple) return &entry;
  return nullptr;
}

bool has_prefix_ignoring_case(std::string_view text, std::string_view lower_prefix) {
  if (text.size() < lower_prefix.size()) return false;
  return std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(), [](char p, char c) {
    return p == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
  });
}

// SQLSTATE: five digits or capitals, at least one digit.
bool is_sqlstate(std::string_view type) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto allowed = [&](char c) { return digit(c) || (c >= 'A' && c <= 'Z'); };
  return type.size() == 5 && std::all_of(type.begin(), type.end(), allowed) &&
         std::any_of(type.begin(), type.end(), digit);
}

bool fits(TypeRule rule, std::string_view type) {
  switch (rule) {
    case TypeRule::any: return true;
    case TypeRule::sql: return is_sqlstate(type) || has_prefix_ignoring_case(type, "sqlite");
    case TypeRule::sql_constraint:
      return (is_sqlstate(type) && type.substr(0, 2) == "23") ||
             has_prefix_ignoring_case(type, "sqlite_constraint");
    case TypeRule::http: return has_prefix_ignoring_case(type, "http");
  }
  return false;
}

// Steps from `type` up to `ancestor`, both in the table.
std::optional<int> climb(const JavaClass* type, const JavaClass* ancestor) {
  for (int steps = 0; type; ++steps, type = find_class(type->parent))
    if (type == ancestor) return steps;
  return std::nullopt;
}

int depth(const JavaClass* entry) {
  int out = 0;
  for (entry = find_class(entry->parent); entry; entry = find_class(entry->parent)) ++out;
  return out;
}

bool same_class(std::string_view a, std::string_view b) {
  if (a == b) return true;
  // A simple name on one side is enough; two different full names are different classes.
  const bool qualified_a = a.find('.') != std::string_view::npos;
  const bool qualified_b = b.find('.') != std::string_view::npos;
  return qualified_a != qualified_b && simple_name(a) == simple_name(b);
}

constexpr int kFarthest = 100;

}  // namespace

std::optional<int> exception_distance(std::string_view written, const Error& error) {
  if (error.kind == ErrorKind::cancelled || written.empty()) return std::nullopt;
  if (!error.type.empty() && same_class(written, error.type)) return 0;
  for (const KindName& entry : kKindNames)
    if (entry.name == written)
      return (entry.kinds & bit(error.kind)) ? std::optional(kFarthest / 2) : std::nullopt;

  const JavaClass* const wanted = find_class(written);
  if (!wanted) return std::nullopt;
  // A thrown class of the table is judged by its ancestors alone.
  if (const JavaClass* type = error.type.empty() ? nullptr : find_class(error.type))
    return climb(type, wanted);
  if (!(wanted->kinds & bit(error.kind)) || !fits(wanted->rule, error.type)) return std::nullopt;
  return kFarthest - depth(wanted);
}

ErrorKind kind_of_exception(std::string_view class_name) {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::bug); ++kind)
    if (to_string(static_cast<ErrorKind>(kind)) == class_name) return static_cast<ErrorKind>(kind);
  const JavaClass* const entry = find_class(class_name);
  return entry ? entry->thrown : ErrorKind::rejected;
}

}  // namespace drom
