// Writes files so that they appear complete or not at all. Blocks: on a lane.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connectors/file/file_options.hpp"
#include "drom/base/bytes.hpp"

namespace drom::file {

struct Content {
  std::string text;
  Bytes bytes;  // used when text is empty
  std::string_view view() const { return text.empty() ? bytes.view() : std::string_view(text); }
};

struct WriteJob {
  std::shared_ptr<const ProducerOptions> options;
  DirectoryPtr directory;
  std::string name;            // a safe_name
  std::string temporary_base;  // of the file while it is being written
  Content content;
  std::optional<Spot> old_goes_to;  // fileExist=Move
};

// A file that is written piece by piece (every fileExist but Append). Nobody sees it before
// finish(), and never when it is dropped before.
class NewFile {
 public:
  static Result<std::unique_ptr<NewFile>> begin(WriteJob job);
  ~NewFile();
  // False: there is a file that is to be kept (fileExist=Ignore).
  bool wanted() const { return fd_.get() >= 0; }
  Result<void> write(std::string_view bytes);
  // The absolute path.
  Result<std::string> finish();

 private:
  explicit NewFile(WriteJob job) : job_(std::move(job)) {}
  Result<void> settle();

  WriteJob job_;
  Place target_;
  Place temporary_;  // none once it has its name
  Fd fd_;
};

// The absolute path of the file; also when an existing file was kept (fileExist=Ignore).
Result<std::string> write_file(const WriteJob& job);

}  // namespace drom::file
