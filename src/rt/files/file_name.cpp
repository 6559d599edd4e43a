#include "rt/files/file_name.hpp"

#include <vector>

namespace drom::file {
namespace {

constexpr size_t kPartMax = 255;   // NAME_MAX of all common file systems
constexpr size_t kNameMax = 4000;  // leaves room below PATH_MAX for the directory

Error refused(std::string_view name, std::string_view why) {
  std::string shown(name.substr(0, 100));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 32) c = '?';
  return Error(ErrorKind::data, "the file name '" + shown + "' " + std::string(why),
               "file names are relative to the directory of the endpoint and stay below it");
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// One folder or file name against one part of a pattern; iterative, so that no input is slow.
bool part_matches(std::string_view pattern, std::string_view text, bool case_sensitive) {
  size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    const auto same = [&] {
      return case_sensitive ? pattern[p] == text[t] : lower(pattern[p]) == lower(text[t]);
    };
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || same())) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (slash != 0) out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return out;
}

}  // namespace

Result<std::string> safe_name(std::string_view name) {
  if (name.empty()) return refused(name, "is empty");
  if (name.front() == '/') return refused(name, "is absolute");
  if (name.find('\0') != std::string_view::npos) return refused(name, "holds a NUL");
  if (name.size() > kNameMax) return refused(name, "is too long");
  if (name.back() == '/') return refused(name, "names a folder");
  std::string out;
  for (const std::string_view part : parts_of(name)) {
    if (part == ".") continue;
    if (part == "..") return refused(name, "leaves the directory");
    if (part.size() > kPartMax) return refused(name, "is too long");
    if (!out.empty()) out += '/';
    out += part;
  }
  if (out.empty()) return refused(name, "names no file");
  return out;
}

std::string_view folder_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

std::string_view base_of(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

std::string_view without_extension(std::string_view base) {
  const size_t dot = base.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? base : base.substr(0, dot);
}

std::string_view extension_of(std::string_view base) {
  const size_t dot = base.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : base.substr(dot + 1);
}

std::string joined(std::string_view folder, std::string_view name) {
  std::string out(folder);
  if (!out.empty() && out.back() != '/') out += '/';
  out += name;
  return out;
}

bool ant_matches(std::string_view pattern, std::string_view name, bool case_sensitive) {
  const std::vector<std::string_view> p = parts_of(pattern), n = parts_of(name);
  // reach[j]: the pattern parts so far match the first j name parts. Cost: parts times parts.
  std::vector<bool> reach(n.size() + 1);
  reach[0] = true;
  for (const std::string_view part : p) {
    std::vector<bool> next(n.size() + 1);
    if (part == "**") {
      bool any = false;
      for (size_t j = 0; j <= n.size(); ++j) next[j] = any = any || reach[j];
    } else {
      for (size_t j = 0; j < n.size(); ++j)
        next[j + 1] = reach[j] && part_matches(part, n[j], case_sensitive);
    }
    reach = std::move(next);
  }
  return reach[n.size()];
}

bool is_utf8(std::string_view text) {
  size_t i = 0;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  while (i < text.size()) {
    const unsigned char c = byte(i);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const size_t more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC2 || c > 0xF4 || i + more >= text.size()) return false;
    for (size_t k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    const unsigned char second = byte(i + 1);
    // Over-long forms, surrogates, and what lies beyond U+10FFFF.
    if ((c == 0xE0 && second < 0xA0) || (c == 0xED && second > 0x9F) ||
        (c == 0xF0 && second < 0x90) || (c == 0xF4 && second > 0x8F))
      return false;
    i += more + 1;
  }
  return true;
}

Result<DoneName> DoneName::parse(std::string_view pattern) {
  DoneName out;
  if (pattern.empty()) return out;
  if (pattern.find('/') != std::string_view::npos)
    return Error(ErrorKind::config, "doneFileName '" + std::string(pattern) + "' names a folder",
                 "a done file stands beside its file");
  const size_t start = pattern.find("${");
  if (start == std::string_view::npos) {
    out.kind_ = Kind::fixed;
    out.prefix_ = pattern;
    return out;
  }
  const size_t end = pattern.find('}', start);
  const std::string_view what =
      end == std::string_view::npos ? "" : pattern.substr(start, end + 1 - start);
  if (what == "${file:name}" || what == "${file:onlyname}") {
    out.kind_ = Kind::by_name;
  } else if (what == "${file:name.noext}" || what == "${file:onlyname.noext}") {
    out.kind_ = Kind::by_name_without_extension;
  } else {
    return Error(ErrorKind::config,
                 "doneFileName '" + std::string(pattern) + "' cannot be resolved",
                 "use a fixed name, ${file:name} or ${file:name.noext}");
  }
  out.prefix_ = pattern.substr(0, start);
  out.suffix_ = pattern.substr(end + 1);
  if (out.prefix_.empty() && out.suffix_.empty())
    return Error(ErrorKind::config, "doneFileName is the file itself",
                 "add something to the name: ${file:name}.done");
  return out;
}

std::string DoneName::of(std::string_view base) const {
  if (kind_ == Kind::fixed) return prefix_;
  const bool short_name = kind_ == Kind::by_name_without_extension;
  return prefix_ + std::string(short_name ? without_extension(base) : base) + suffix_;
}

bool DoneName::is_done_file(std::string_view base) const {
  if (kind_ == Kind::none) return false;
  if (kind_ == Kind::fixed) return base == prefix_;
  return base.size() > prefix_.size() + suffix_.size() && base.starts_with(prefix_) &&
         base.ends_with(suffix_);
}

}  // namespace drom::file
