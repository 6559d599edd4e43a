#include "connectors/file/scan.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "drom/model/headers.hpp"

namespace drom::file {
namespace {

constexpr int64_t kDepthMax = 64;  // folders in folders; deeper trees are somebody's mistake

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

bool has_extension(std::string_view name, const std::vector<std::string>& extensions) {
  const std::string_view extension = extension_of(name);
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const std::string& e) { return iequals(e, extension); });
}

bool any_ant(const std::vector<std::string>& patterns, std::string_view name, bool case_sensitive) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ant_matches(pattern, name, case_sensitive);
  });
}

class Walk {
 public:
  Walk(const Directory& directory, const ScanRules& rules, const std::string& only, Scan& out)
      : directory_(directory), rules_(rules), only_(only), out_(out) {}

  Result<void> folder(const std::string& name, int64_t depth) {
    Result<Listing> listing = list_folder(directory_, name);
    if (!listing) return listing.error();
    if (depth >= rules_.min_depth) take_files(name, listing->files);
    if (!rules_.recursive || depth >= std::min(rules_.max_depth, kDepthMax)) return {};
    for (const std::string& sub : listing->folders) {
      if (out_.truncated) return {};
      const std::string full = joined(name, sub);
      if (is_skipped(full, sub)) continue;
      Result<void> walked = folder(full, depth + 1);
      // A folder that vanished or may not be read does not hide the others.
      if (!walked && walked.error().retryable()) return walked;
    }
    return {};
  }

 private:
  bool is_skipped(const std::string& full, std::string_view base) const {
    if (!rules_.hidden && base.starts_with('.')) return true;
    for (const std::string& skipped : rules_.skipped_folders)
      if (full == skipped || full.ends_with("/" + skipped)) return true;
    return false;
  }

  void take_files(const std::string& folder, std::vector<FileInfo>& files) {
    std::unordered_set<std::string_view> names;
    if (rules_.done.used())
      for (const FileInfo& file : files) names.insert(file.name);
    std::vector<FileInfo> taken;
    for (const FileInfo& file : files) {
      const std::string_view base = file.name;
      if (!rules_.hidden && base.starts_with('.')) continue;
      if (base.ends_with(kMarkerSuffix) || base.ends_with(kProbeSuffix)) continue;
      if (base.starts_with(".drom-")) continue;  // a file that a producer is still writing
      if (rules_.done.used() &&
          (rules_.done.is_done_file(base) || !names.contains(rules_.done.of(base))))
        continue;
      FileInfo found = file;
      found.name = joined(folder, base);
      if (!only_.empty() && found.name != only_) continue;
      if (rules_.filter.accepts(found.name)) taken.push_back(std::move(found));
    }
    for (FileInfo& file : taken) {
      if (out_.files.size() >= kScanMax) {
        out_.truncated = true;
        return;
      }
      out_.files.push_back(std::move(file));
    }
  }

  const Directory& directory_;
  const ScanRules& rules_;
  const std::string& only_;
  Scan& out_;
};

}  // namespace

bool Filter::accepts(std::string_view name) const {
  const std::string base(base_of(name));
  if (exclude && std::regex_match(base, *exclude)) return false;
  if (!excluded_extensions.empty() && has_extension(base, excluded_extensions)) return false;
  if (any_ant(ant_exclude, name, ant_case_sensitive)) return false;
  if (include && !std::regex_match(base, *include)) return false;
  if (!extensions.empty() && !has_extension(base, extensions)) return false;
  return ant_include.empty() || any_ant(ant_include, name, ant_case_sensitive);
}

Result<Listing> list_folder(const Directory& directory, std::string_view folder) {
  // A name below the folder leads to the folder without following links.
  Result<Place> place = directory.existing(joined(folder, "x"));
  if (!place) return place.error();
  const std::string shown = joined(directory.path(), folder);
  // A descriptor of its own: reading moves the position that duplicates share.
  const int fd = ::openat(place->folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error(errno, "list", shown);
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd));
  if (!dir) return io_error(errno, "list", shown);
  Listing out;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (!entry) break;
    place->base = entry->d_name;
    if (place->base == "." || place->base == "..") continue;
    if (entry->d_type == DT_DIR) {
      out.folders.push_back(place->base);
      continue;
    }
    if (entry->d_type == DT_UNKNOWN) {
      struct stat info{};
      if (::fstatat(place->folder.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISDIR(info.st_mode)) {
        out.folders.push_back(place->base);
        continue;
      }
    } else if (entry->d_type != DT_REG) {
      continue;
    }
    Result<std::optional<FileInfo>> info = look(*place);
    if (info && *info) out.files.push_back(std::move(**info));
  }
  if (errno != 0) return io_error(errno, "list", shown);
  std::sort(out.folders.begin(), out.folders.end());
  return out;
}

Result<Scan> scan(const Directory& directory, const ScanRules& rules, const std::string& only) {
  Scan out;
  Walk walk(directory, rules, only, out);
  Result<void> walked = walk.folder("", 1);
  if (!walked) return walked.error();
  const auto before = [&](const FileInfo& a, const FileInfo& b) {
    if (rules.sort == SortKey::modified && a.modified_ms != b.modified_ms)
      return a.modified_ms < b.modified_ms;
    if (rules.sort == SortKey::length && a.size != b.size) return a.size < b.size;
    return a.name < b.name;
  };
  std::sort(out.files.begin(), out.files.end(), before);
  if (rules.descending) std::reverse(out.files.begin(), out.files.end());
  return out;
}

}  // namespace drom::file
