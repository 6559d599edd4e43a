#include "connectors/file/writer.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "rt/files/temporary.hpp"

namespace drom::file {
namespace {

Result<void> set_mode(int fd, const ProducerOptions& options, const std::string& shown) {
  if (!options.mode || ::fchmod(fd, *options.mode) == 0) return {};
  return io_error(errno, "set the mode of", shown);
}

Result<void> sync(int fd, const ProducerOptions& options, const std::string& shown) {
  return options.sync ? sync_file(fd, shown) : Result<void>();
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

Result<std::unique_ptr<NewFile>> NewFile::begin(WriteJob job) {
  std::unique_ptr<NewFile> out(new NewFile(std::move(job)));
  const ProducerOptions& options = *out->job_.options;
  Result<Place> target = out->job_.directory->place(
      out->job_.name, FolderRules{options.auto_create, options.folder_mode});
  if (!target) return target.error();
  out->target_ = std::move(*target);
  if (options.exist == FileExist::fail || options.exist == FileExist::ignore) {
    Result<std::optional<FileInfo>> old = look(out->target_);
    if (!old) return old.error();
    if (*old && options.exist == FileExist::ignore) return out;
    if (*old) return exists(out->target_);
  }
  Place temporary;
  temporary.folder = Fd(::fcntl(out->target_.folder.get(), F_DUPFD_CLOEXEC, 0));
  temporary.base = out->job_.temporary_base;
  temporary.shown = out->target_.shown;
  Result<Fd> opened = create_temporary(temporary);
  if (!opened) return opened.error();
  out->fd_ = std::move(*opened);
  out->temporary_ = std::move(temporary);
  return out;
}

NewFile::~NewFile() {
  if (!temporary_.base.empty()) ::unlinkat(target_.folder.get(), temporary_.base.c_str(), 0);
}

Result<void> NewFile::write(std::string_view bytes) {
  return write_all(fd_.get(), bytes, target_.shown);
}

Result<void> NewFile::settle() {
  const ProducerOptions& options = *job_.options;
  const bool keeps = options.exist == FileExist::fail || options.exist == FileExist::ignore;
  Result<void> done = set_mode(fd_.get(), options, target_.shown);
  if (done) done = sync(fd_.get(), options, target_.shown);
  if (done && options.exist == FileExist::move) {
    Result<std::optional<FileInfo>> old = look(target_);
    if (!old) return old.error();
    if (*old) done = put_aside(job_, target_);
  }
  if (done) done = move_file(temporary_, target_, keeps ? Existing::refuse : Existing::replace);
  if (!done) return done;
  temporary_.base.clear();
  done = sync(target_.folder.get(), options, target_.shown);
  return done ? write_done_file(job_) : done;
}

Result<std::string> NewFile::finish() {
  if (!wanted()) return target_.shown;
  Result<void> done = settle();
  if (!done && done.error().type == "EEXIST") {
    if (job_.options->exist == FileExist::ignore) return target_.shown;
    if (job_.options->exist == FileExist::fail) return exists(target_);
  }
  if (!done) return done.error();
  return target_.shown;
}

namespace {

Result<std::string> append_file(const WriteJob& job) {
  const ProducerOptions& options = *job.options;
  Result<Place> target =
      job.directory->place(job.name, FolderRules{options.auto_create, options.folder_mode});
  if (!target) return target.error();
  Result<void> done = append(job, *target);
  if (done) done = write_done_file(job);
  if (!done) return done.error();
  return target->shown;
}

}  // namespace

Result<std::string> write_file(const WriteJob& job) {
  if (job.options->exist == FileExist::append) return append_file(job);
  Result<std::unique_ptr<NewFile>> file = NewFile::begin(job);
  if (!file) return file.error();
  if ((*file)->wanted()) {
    Result<void> written = (*file)->write(job.content.view());
    if (!written) return written.error();
  }
  return (*file)->finish();
}

}  // namespace drom::file
