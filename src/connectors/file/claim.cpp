#include "connectors/file/claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "connectors/file/scan.hpp"

namespace drom::file {
namespace {

constexpr std::string_view kMarkerText = "drom\n";

Place beside(const Place& file, std::string_view suffix) {
  Place out;
  out.folder = Fd(::fcntl(file.folder.get(), F_DUPFD_CLOEXEC, 0));
  out.base = file.base + std::string(suffix);
  out.shown = file.shown + std::string(suffix);
  return out;
}

bool try_lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

// True when `fd` is still the file that the name leads to.
bool still_named(const Place& place, int fd) {
  struct stat held{}, named{};
  return ::fstat(fd, &held) == 0 &&
         ::fstatat(place.folder.get(), place.base.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

bool has_our_text(int fd) {
  char text[kMarkerText.size()];
  return ::pread(fd, text, sizeof text, 0) == ssize_t(sizeof text) &&
         std::string_view(text, sizeof text) == kMarkerText;
}

// An existing marker: ours for the taking when a Dromedary process left it and nobody holds it.
Fd take_over(const Place& marker) {
  Fd fd(::openat(marker.folder.get(), marker.base.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (!fd || !try_lock(fd.get()) || !has_our_text(fd.get()) || !still_named(marker, fd.get()))
    return Fd();
  return fd;
}

// Some writers keep the file open under another name or lock renames; if we can rename it, they are
// done with it.
Result<void> probe_rename(const Place& file) {
  const Place aside = beside(file, kProbeSuffix);
  Result<void> moved = move_file(file, aside, Existing::refuse);
  if (!moved) return moved;
  return move_file(aside, file, Existing::refuse);
}

Result<Place> place_of(const Spot& spot) { return spot.directory->existing(spot.name); }

Result<void> move_spot(const Spot& from, const Spot& to, Existing existing) {
  Result<Place> source = place_of(from);
  if (!source) return source.error();
  Result<Place> target = to.directory->place(to.name, FolderRules{});
  if (!target) return target.error();
  return move_file(*source, *target, existing);
}

Claimed busy() { return Claimed(); }

Claimed failure(Error error, const std::shared_ptr<Marker>& marker) {
  Claimed out;
  // A file that vanished in between was taken by somebody else: no fault of ours.
  if (error.type != "ENOENT") {
    out.state = Claimed::State::failed;
    out.error = std::move(error);
  }
  if (marker) {
    const Result<void> released = marker->release();
    if (!released && !out.error) out.error = released.error();
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<Marker>> Marker::acquire(const Place& file) {
  Place marker = beside(file, kMarkerSuffix);
  Fd fd(::openat(marker.folder.get(), marker.base.c_str(),
                 O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) {
    if (errno != EEXIST) return io_error(errno, "lock", file.shown);
    fd = take_over(marker);
    if (!fd) return std::shared_ptr<Marker>();
  } else if (!try_lock(fd.get())) {
    // Somebody looks at our new marker at this very moment; the next poll will do.
    ::unlinkat(marker.folder.get(), marker.base.c_str(), 0);
    return std::shared_ptr<Marker>();
  } else {
    Result<void> written = write_all(fd.get(), kMarkerText, marker.shown);
    if (!written) {
      ::unlinkat(marker.folder.get(), marker.base.c_str(), 0);
      return written.error();
    }
  }
  return std::shared_ptr<Marker>(new Marker(std::move(marker), std::move(fd)));
}

Result<void> Marker::release() {
  if (!lock_) return {};
  const Result<void> removed = remove_file(place_);  // while we still hold the lock
  lock_.reset();
  return removed;
}

Claimed claim(const ClaimJob& job) {
  Result<Place> found = place_of(job.at);
  if (!found) return failure(found.error(), nullptr);
  Place& file = *found;
  std::shared_ptr<Marker> marker;
  if (job.lock == ReadLock::marker_file) {
    Result<std::shared_ptr<Marker>> acquired = Marker::acquire(file);
    if (!acquired) return failure(acquired.error(), nullptr);
    if (!*acquired) return busy();
    marker = std::move(*acquired);
  }
  // Another consumer may have handled and removed it between our scan and our lock.
  Result<std::optional<FileInfo>> info = look(file);
  if (!info) return failure(info.error(), marker);
  if (!*info) return failure(io_error(ENOENT, "read", file.shown), marker);
  if (job.lock == ReadLock::rename) {
    const Result<void> probed = probe_rename(file);
    if (!probed) return failure(probed.error(), marker);
  }
  Claimed out;
  out.at = job.at;
  out.info = **info;
  out.info.name = job.at.name;
  out.marker = marker;
  if (job.move_first) {
    const Result<void> moved = move_spot(job.at, *job.move_first, Existing::replace);
    if (!moved) return failure(moved.error(), marker);
    out.at = *job.move_first;
  }
  Result<Place> now = place_of(out.at);
  if (!now) return failure(now.error(), marker);
  Result<std::string> body = read_file(*now, job.body_max);
  if (body) {
    out.state = Claimed::State::ready;
    out.body = std::move(*body);
    return out;
  }
  if (body.error().kind == ErrorKind::data) {
    out.state = Claimed::State::unreadable;
    out.error = body.error();
    return out;
  }
  if (job.move_first) {
    const Result<void> back = move_spot(out.at, job.at, Existing::refuse);
    if (!back) return failure(back.error(), marker);
  }
  return failure(body.error(), marker);
}

Result<void> finish(const FinishJob& job) {
  Result<void> done;
  if (job.action == FinishJob::Action::move) {
    done = move_spot(job.at, job.target, job.replace ? Existing::replace : Existing::refuse);
  } else if (job.action == FinishJob::Action::remove) {
    Result<Place> place = place_of(job.at);
    done = place ? remove_file(*place) : Result<void>(place.error());
  }
  if (!done) return done;  // the marker stays: nobody may take the file meanwhile
  if (!job.done_file.empty()) {
    const std::string name = joined(folder_of(job.origin.name), job.done_file);
    Result<Place> place = job.origin.directory->existing(name);
    if (place) done = remove_file(*place);
  }
  if (job.marker) {
    const Result<void> released = job.marker->release();
    if (done && !released) done = released;
  }
  return done;
}

namespace {

class Recoverer {
 public:
  Recoverer(const Directory& directory, const Recovery& rules)
      : directory_(directory), rules_(rules) {}

  Result<void> folder(const std::string& name, int depth) {
    Result<Listing> listing = list_folder(directory_, name);
    if (!listing) return listing.error();
    for (const FileInfo& file : listing->files) {
      if (rules_.orphan_markers && file.name.ends_with(kMarkerSuffix))
        drop_orphan(joined(name, file.name));
      if (file.name.ends_with(kProbeSuffix)) undo_probe(joined(name, file.name));
    }
    if (!rules_.pre_move.empty()) bring_back(name);
    if (!rules_.recursive || depth >= 64) return {};
    for (const std::string& sub : listing->folders) {
      if (sub.starts_with('.')) continue;
      const Result<void> walked = folder(joined(name, sub), depth + 1);
      if (!walked && walked.error().retryable()) return walked;
    }
    return {};
  }
  size_t returned() const { return returned_; }

 private:
  void drop_orphan(const std::string& name) {
    Result<Place> marker = directory_.existing(name);
    if (!marker) return;
    const Fd fd(
        ::openat(marker->folder.get(), marker->base.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (fd && try_lock(fd.get()) && still_named(*marker, fd.get()))
      ::unlinkat(marker->folder.get(), marker->base.c_str(), 0);
  }
  void undo_probe(const std::string& name) {
    Result<Place> aside = directory_.existing(name);
    Result<Place> file =
        directory_.existing(std::string_view(name).substr(0, name.size() - kProbeSuffix.size()));
    if (aside && file && move_file(*aside, *file, Existing::refuse)) ++returned_;
  }
  // The marker stands where the file was: while a live process holds it, the file stays aside.
  void bring_back(const std::string& folder) {
    const std::string aside = joined(folder, rules_.pre_move);
    Result<Listing> listing = list_folder(directory_, aside);
    if (!listing) return;  // nobody has moved anything yet
    for (const FileInfo& file : listing->files) {
      Result<Place> from = directory_.existing(joined(aside, file.name));
      Result<Place> to = directory_.existing(joined(folder, file.name));
      if (!from || !to) continue;
      Result<std::shared_ptr<Marker>> marker = Marker::acquire(*to);
      if (!marker || !*marker) continue;
      if (move_file(*from, *to, Existing::refuse)) ++returned_;
      (void)(*marker)->release();
    }
  }

  const Directory& directory_;
  const Recovery& rules_;
  size_t returned_ = 0;
};

}  // namespace

Result<size_t> recover(const Directory& directory, const Recovery& recovery) {
  Recoverer recoverer(directory, recovery);
  const Result<void> walked = recoverer.folder("", 1);
  if (!walked) return walked.error();
  return recoverer.returned();
}

}  // namespace drom::file
