// Finds the files that a consumer may take: walks the directory, filters, sorts. Blocks: on a lane.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "rt/files/directory.hpp"
#include "rt/files/file_name.hpp"

namespace drom::file {

inline constexpr std::string_view kMarkerSuffix = ".camelLock";
inline constexpr std::string_view kProbeSuffix = ".camelExclusiveReadLock";
// Files of one scan that are kept in memory; the rest comes with the next scans.
inline constexpr size_t kScanMax = 100'000;

struct Filter {
  std::optional<std::regex> include;  // the whole file name without folders
  std::optional<std::regex> exclude;
  std::vector<std::string> ant_include;  // the name with folders
  std::vector<std::string> ant_exclude;
  bool ant_case_sensitive = true;
  std::vector<std::string> extensions;  // without dot; empty: all
  std::vector<std::string> excluded_extensions;

  bool accepts(std::string_view name) const;
};

enum class SortKey : uint8_t { name, modified, length };

struct ScanRules {
  bool recursive = false;
  int64_t min_depth = 0;  // the directory itself is depth 1
  int64_t max_depth = INT64_MAX;
  bool hidden = false;  // files and folders whose name starts with a dot
  Filter filter;
  DoneName done;
  std::vector<std::string> skipped_folders;  // where handled files go: "done", "a/b"
  SortKey sort = SortKey::name;
  bool descending = false;
};

struct Scan {
  std::vector<FileInfo> files;
  bool truncated = false;
};

// `only`: when not empty, the one name that is wanted.
Result<Scan> scan(const Directory& directory, const ScanRules& rules, const std::string& only);

// Folders and files of one folder, without filters; "" is the directory itself. Links are left out.
struct Listing {
  std::vector<std::string> folders;
  std::vector<FileInfo> files;  // base names
};
Result<Listing> list_folder(const Directory& directory, std::string_view folder);

}  // namespace drom::file
