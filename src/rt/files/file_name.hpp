// Names of files below an endpoint's directory: relative, with '/' between folders, and never able
// to leave the directory. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "drom/base/error.hpp"

namespace drom::file {

// "a//./b" becomes "a/b". Refused: empty, absolute, "..", NUL, over-long names.
Result<std::string> safe_name(std::string_view name);

std::string_view folder_of(std::string_view name);          // "a/b" of "a/b/c.txt", "" of "c.txt"
std::string_view base_of(std::string_view name);            // "c.txt"
std::string_view without_extension(std::string_view base);  // "c" of "c.txt"; up to the last dot
std::string_view extension_of(std::string_view base);       // "txt"
std::string joined(std::string_view folder, std::string_view name);

// Ant patterns: ? one character, * within a folder, ** over folders.
bool ant_matches(std::string_view pattern, std::string_view name, bool case_sensitive);

bool is_utf8(std::string_view text);

// The name of the file that says "X is complete": a fixed name, or one made from the name of X by
// ${file:name}, ${file:onlyname} or ${file:name.noext}.
class DoneName {
 public:
  // "" is no done file. Other placeholders are an error.
  static Result<DoneName> parse(std::string_view pattern);
  bool used() const { return kind_ != Kind::none; }
  bool fixed() const { return kind_ == Kind::fixed; }
  std::string of(std::string_view base) const;
  // True when `base` itself looks like such a file.
  bool is_done_file(std::string_view base) const;

 private:
  enum class Kind { none, fixed, by_name, by_name_without_extension };
  Kind kind_ = Kind::none;
  std::string prefix_;
  std::string suffix_;
};

}  // namespace drom::file
