#include "connectors/http/file_body.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "connectors/http/message_reader.hpp"
#include "drom/spi/build_context.hpp"
#include "rt/files/file_name.hpp"
#include "rt/files/temporary.hpp"

namespace drom::http {
namespace {

constexpr size_t kReadBytes = 256 * 1024;
constexpr size_t kSliceBytes = 4 * 1024;

struct OpenFile {
  file::Fd fd;
  uint64_t size = 0;
  std::string shown;
};

Result<OpenFile> open_file(const std::string& directory, const std::string& name) {
  Result<std::string> safe = file::safe_name(name);
  if (!safe) return std::move(safe.error());
  file::FolderRules rules;
  rules.create = false;
  Result<file::DirectoryPtr> opened = file::Directory::open(directory, rules);
  if (!opened) return std::move(opened.error());
  Result<file::Place> place = (*opened)->existing(*safe);
  if (!place) return std::move(place.error());
  OpenFile out;
  out.shown = place->shown;
  out.fd = file::Fd(
      ::openat(place->folder.get(), place->base.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!out.fd) return file::io_error(errno, "read", out.shown);
  struct stat info{};
  if (::fstat(out.fd.get(), &info) != 0) return file::io_error(errno, "read", out.shown);
  if (!S_ISREG(info.st_mode))
    return Error(ErrorKind::rejected, "'" + out.shown + "' is no regular file");
  out.size = static_cast<uint64_t>(info.st_size);
  return out;
}

}  // namespace

std::shared_ptr<Lane> file_lane(BuildContext& context) {
  struct Shared {
    std::shared_ptr<Lane> lane;
  };
  return context
      .shared<Shared>([&] {
        auto made = std::make_shared<Shared>();
        made->lane = std::make_shared<Lane>(context.io(), "http files");
        return made;
      })
      .lane;
}

async<Result<std::unique_ptr<FileSource>>> FileSource::open(std::shared_ptr<Lane> lane,
                                                            std::string directory,
                                                            std::string name) {
  auto job = [directory, name] { return open_file(directory, name); };
  Result<OpenFile> opened = co_await lane->call(std::move(job));
  if (!opened) co_return std::move(opened.error());
  auto fd = std::make_shared<const file::Fd>(std::move(opened->fd));
  std::unique_ptr<FileSource> made(
      new FileSource(std::move(lane), std::move(fd), opened->size, std::move(opened->shown)));
  co_return std::move(made);
}

async<Result<std::string>> FileSource::next() {
  const uint64_t offset = offset_;
  const std::string shown = shown_;
  const std::shared_ptr<const file::Fd> fd = fd_;
  auto job = [fd, offset, shown]() -> Result<std::string> {
    std::string out(kReadBytes, '\0');
    const ssize_t got = ::pread(fd->get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) return file::io_error(errno, "read", shown);
    out.resize(static_cast<size_t>(got));
    return out;
  };
  Result<std::string> piece = co_await lane_->call(std::move(job));
  if (piece) offset_ += piece->size();
  co_return piece;
}

// On the lane, but for `shown`.
struct FileSink::Files {
  file::Place target;
  file::Place temporary;
  file::Fd fd;
  std::string shown;

  static Result<std::shared_ptr<Files>> open(const std::string& directory, const std::string& name,
                                             const std::string& unique) {
    Result<std::string> safe = file::safe_name(name);
    if (!safe) return std::move(safe.error());
    Result<file::DirectoryPtr> opened = file::Directory::open(directory, file::FolderRules{});
    if (!opened) return std::move(opened.error());
    Result<file::Place> target = (*opened)->place(*safe, file::FolderRules{});
    if (!target) return std::move(target.error());
    Result<file::Place> aside = (*opened)->place(file::temporary_name(unique), file::FolderRules{});
    if (!aside) return std::move(aside.error());
    auto out = std::make_shared<Files>();
    out->shown = target->shown;
    out->target = std::move(*target);
    out->temporary = std::move(*aside);
    Result<file::Fd> fd = file::create_temporary(out->temporary);
    if (!fd) return std::move(fd.error());
    out->fd = std::move(*fd);
    return out;
  }
  Result<void> write(std::string_view bytes, bool first) {
    if (first && (::ftruncate(fd.get(), 0) != 0 || ::lseek(fd.get(), 0, SEEK_SET) != 0))
      return file::io_error(errno, "write", temporary.shown);
    return file::write_all(fd.get(), bytes, temporary.shown);
  }
  Result<void> keep() {
    Result<void> done = file::sync_file(fd.get(), temporary.shown);
    if (done) done = file::move_file(temporary, target, file::Existing::replace);
    if (done) done = file::sync_file(target.folder.get(), target.shown);
    return done;
  }
};

async<Result<std::unique_ptr<FileSink>>> FileSink::open(std::shared_ptr<Lane> lane,
                                                        std::string directory, std::string name,
                                                        std::string unique, FileSinkRules rules) {
  auto job = [directory, name, unique] { return Files::open(directory, name, unique); };
  Result<std::shared_ptr<Files>> files = co_await lane->call(std::move(job));
  if (!files) co_return std::move(files.error());
  std::unique_ptr<FileSink> made(
      new FileSink(std::move(lane), std::move(*files), std::move(rules)));
  co_return std::move(made);
}

async<> drop_half_files(std::shared_ptr<Lane> lane, std::string directory, WallTime now) {
  auto job = [directory, now]() -> Result<size_t> {
    file::FolderRules rules;
    rules.create = false;
    Result<file::DirectoryPtr> opened = file::Directory::open(directory, rules);
    if (!opened) return std::move(opened.error());
    return file::drop_leftovers(**opened, now);
  };
  // A directory that cannot be listed can still be written to.
  (void)co_await lane->call(std::move(job));
}

FileSink::~FileSink() {
  if (kept_) return;
  lane_->push([files = files_] {
    // Half a file helps nobody; when it cannot be removed, its name says what it is.
    static_cast<void>(file::remove_file(files->temporary));
  });
}

bool FileSink::begin(const Response& head) {
  began_ = rules_.wanted(head.status);
  fresh_ = true;
  size_ = 0;
  const std::string_view codings = head.headers.text("Content-Encoding");
  decoder_ = rules_.decode && !codings.empty()
                 ? std::make_unique<ContentDecoder>(codings, rules_.limits)
                 : nullptr;
  return began_;
}

async<Result<void>> FileSink::take(std::string bytes) {
  if (!decoder_) {
    Result<void> written = co_await write(std::move(bytes));
    co_return written;
  }
  // In small slices: what one of them unfolds into is all that is in memory.
  std::string plain;
  for (size_t at = 0; at < bytes.size(); at += kSliceBytes) {
    const Decoded outcome = decoder_->feed(std::string_view(bytes).substr(at, kSliceBytes), plain);
    if (outcome != Decoded::ok)
      co_return Error(ErrorKind::rejected,
                      "the body of the answer " + std::string(to_string(outcome)));
    if (plain.size() < kReadBytes && at + kSliceBytes < bytes.size()) continue;
    Result<void> written = co_await write(std::move(plain));
    if (!written) co_return written;
    plain.clear();
  }
  co_return Result<void>();
}

async<Result<void>> FileSink::write(std::string bytes) {
  size_ += bytes.size();
  const bool first = fresh_;
  fresh_ = false;
  const std::shared_ptr<Files> files = files_;
  auto job = [files, first, data = std::move(bytes)] { return files->write(data, first); };
  Result<void> written = co_await lane_->call(std::move(job));
  co_return written;
}

async<Result<std::string>> FileSink::keep() {
  if (decoder_ && decoder_->finish() != Decoded::ok)
    co_return Error(ErrorKind::rejected,
                    "the body of the answer " + std::string(to_string(Decoded::damaged)));
  const std::shared_ptr<Files> files = files_;
  const bool empty = fresh_;
  auto job = [files, empty]() -> Result<void> {
    if (empty) {
      Result<void> emptied = files->write({}, true);
      if (!emptied) return emptied;
    }
    return files->keep();
  };
  Result<void> kept = co_await lane_->call(std::move(job));
  if (!kept) co_return std::move(kept.error());
  kept_ = true;
  co_return files->shown;
}

}  // namespace drom::http
