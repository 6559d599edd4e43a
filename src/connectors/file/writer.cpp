#include "connectors/file/writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace drom::file {
namespace {

// Removes the temporary file unless it got its name.
class Temporary {
 public:
  Temporary(const Place& place, std::string base) : place_(place), base_(std::move(base)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!kept_) ::unlinkat(place_.folder.get(), base_.c_str(), 0);
  }
  const std::string& base() const { return base_; }
  void keep() { kept_ = true; }

 private:
  const Place& place_;
  std::string base_;
  bool kept_ = false;
};

Result<void> set_mode(int fd, const ProducerOptions& options, const std::string& shown) {
  if (!options.mode || ::fchmod(fd, *options.mode) == 0) return {};
  return io_error(errno, "set the mode of", shown);
}

Result<void> sync(int fd, const ProducerOptions& options, const std::string& shown) {
  return options.sync ? sync_file(fd, shown) : Result<void>();
}

// The file to write into. One that exists already (tempPrefix) is either being written by somebody
// else, who then holds its lock, or was left by a killed process.
Result<Fd> open_temporary(const Place& target, const std::string& base) {
  for (int attempt = 1; attempt <= 2; ++attempt) {
    Fd fd(::openat(target.folder.get(), base.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (fd) {
      (void)::flock(fd.get(), LOCK_EX | LOCK_NB);  // tells others that somebody is at work
      return fd;
    }
    if (errno != EEXIST) return io_error(errno, "write", target.shown);
    const Fd old(::openat(target.folder.get(), base.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!old || ::flock(old.get(), LOCK_EX | LOCK_NB) != 0) break;
    ::unlinkat(target.folder.get(), base.c_str(), 0);
  }
  return io_error(EBUSY, "write", target.shown);
}

Result<void> write_new(const WriteJob& job, const Place& target, Existing existing) {
  const ProducerOptions& options = *job.options;
  Result<Fd> opened = open_temporary(target, job.temporary_base);
  if (!opened) return opened.error();
  const Fd fd = std::move(*opened);
  Temporary temporary(target, job.temporary_base);
  Result<void> done = write_all(fd.get(), job.content.view(), target.shown);
  if (done) done = set_mode(fd.get(), options, target.shown);
  if (done) done = sync(fd.get(), options, target.shown);
  if (!done) return done;
  Place from;
  from.folder = Fd(::fcntl(target.folder.get(), F_DUPFD_CLOEXEC, 0));
  from.base = temporary.base();
  from.shown = target.shown;
  done = move_file(from, target, existing);
  if (!done) return done;
  temporary.keep();
  return sync(target.folder.get(), options, target.shown);
}

// At the end of what is there; a write that breaks off is taken back.
Result<void> append(const WriteJob& job, const Place& target) {
  const ProducerOptions& options = *job.options;
  const Fd fd(::openat(target.folder.get(), target.base.c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  if (!fd) return io_error(errno, "write", target.shown);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return io_error(EBUSY, "append to", target.shown);
  struct stat before{};
  if (::fstat(fd.get(), &before) != 0) return io_error(errno, "append to", target.shown);
  if (!S_ISREG(before.st_mode)) return io_error(EINVAL, "append to", target.shown);
  std::string data(job.content.view());
  data += options.append_chars;
  Result<void> done = write_all(fd.get(), data, target.shown);
  if (!done) {
    if (::ftruncate(fd.get(), before.st_size) != 0)
      done.error().what += "; what was written of it could not be taken back";
    return done;
  }
  done = set_mode(fd.get(), options, target.shown);
  if (done) done = sync(fd.get(), options, target.shown);
  if (done) done = sync(target.folder.get(), options, target.shown);
  return done;
}

Result<void> write_done_file(const WriteJob& job) {
  const ProducerOptions& options = *job.options;
  if (!options.done.used()) return {};
  const std::string name = joined(folder_of(job.name), options.done.of(base_of(job.name)));
  Result<Place> place = job.directory->existing(name);
  if (!place) return place.error();
  const Fd fd(::openat(place->folder.get(), place->base.c_str(),
                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) return io_error(errno, "write", place->shown);
  Result<void> done = set_mode(fd.get(), options, place->shown);
  if (done) done = sync(place->folder.get(), options, place->shown);
  return done;
}

Result<void> put_aside(const WriteJob& job, const Place& target) {
  Result<Place> aside = job.old_goes_to->directory->place(job.old_goes_to->name, FolderRules{});
  if (!aside) return aside.error();
  return move_file(target, *aside, Existing::replace);
}

Error exists(const Place& target) {
  Error out(ErrorKind::rejected, "the file '" + target.shown + "' exists",
            "choose another fileName, or another fileExist than Fail");
  out.type = "EEXIST";
  return out;
}

}  // namespace

Result<std::string> write_file(const WriteJob& job) {
  const ProducerOptions& options = *job.options;
  Result<Place> target =
      job.directory->place(job.name, FolderRules{options.auto_create, options.folder_mode});
  if (!target) return target.error();
  const bool keeps = options.exist == FileExist::fail || options.exist == FileExist::ignore;
  Result<void> done;
  if (options.exist == FileExist::append) {
    done = append(job, *target);
  } else {
    Result<std::optional<FileInfo>> old = look(*target);
    if (!old) return old.error();
    if (*old && options.exist == FileExist::ignore) return target->shown;
    if (*old && options.exist == FileExist::fail) return exists(*target);
    if (*old && options.exist == FileExist::move) done = put_aside(job, *target);
    if (done) done = write_new(job, *target, keeps ? Existing::refuse : Existing::replace);
    if (!done && keeps && done.error().type == "EEXIST") {
      if (options.exist == FileExist::ignore) return target->shown;
      return exists(*target);
    }
  }
  if (done) done = write_done_file(job);
  if (!done) return done.error();
  return target->shown;
}

Result<size_t> drop_leftovers(const Directory& directory, int64_t before_ms) {
  Result<Listing> listing = list_folder(directory, "");
  if (!listing) return listing.error();
  size_t dropped = 0;
  for (const FileInfo& file : listing->files) {
    const bool ours = file.name.starts_with(".drom-") && file.name.ends_with(".tmp");
    if (!ours || file.modified_ms >= before_ms) continue;
    Result<Place> place = directory.existing(file.name);
    if (!place) continue;
    const Fd fd(
        ::openat(place->folder.get(), place->base.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (remove_file(*place)) ++dropped;
  }
  return dropped;
}

}  // namespace drom::file
