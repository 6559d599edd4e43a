// Where something stands in a file that a person wrote, and the list of everything wrong with it.
// All errors are reported at once, each with a stable code and a hint. Load time, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drom {

struct Location {
  std::shared_ptr<const std::string> file;  // null for routes built in C++
  uint32_t line = 0;                        // from 1; 0 = unknown
  uint32_t column = 0;                      // from 1
  std::string text() const;                 // "orders.yaml:14:11"
};

enum class Severity : uint8_t { warning, error };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string code;  // "E0201", stable; docs/reference/errors.md
  Location where;
  std::string what;     // "unknown option 'topc' for kafka"
  std::string hint;     // "did you mean 'topic'?"; may be empty
  bool secret = false;  // the source line holds a secret and is not shown
};

class Diagnostics {
 public:
  void error(std::string code, Location where, std::string what, std::string hint = {});
  void warning(std::string code, Location where, std::string what, std::string hint = {});
  // Secrets in `what` and `hint` are masked.
  void add(Diagnostic problem);
  // The text of a file that locations name: render() shows its lines, inside() looks into them.
  void add_source(std::string file, std::string text);
  // The place of byte `offset` of `text`, which is (a part of) the YAML scalar that starts at
  // `where`; quotes, escapes and block scalars are followed. `where` itself when that cannot be
  // told.
  Location inside(const Location& where, std::string_view text, size_t offset) const;
  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& items() const { return items_; }
  // `error[E0201] orders.yaml:14:11: unknown option ...` with the source line and a caret, in the
  // order of the places; at most 100 problems. Secrets are masked.
  std::string render() const;

 private:
  std::vector<Diagnostic> items_;
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> sources_;
  size_t errors_ = 0;
};

// "did you mean 'x'?" for the nearest of `candidates` (distance <= 2, case and -_ folded), or a
// list of the valid names when nothing is near and the list is short, or "".
std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& candidates);

}  // namespace drom
