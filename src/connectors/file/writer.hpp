// Writes one file so that it appears complete or not at all. Blocks: on a lane.
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

// The absolute path of the file; also when an existing file was kept (fileExist=Ignore).
Result<std::string> write_file(const WriteJob& job);

// Deletes what killed processes have left half-written in the directory itself, when nobody holds
// it and it is older than `before_ms` (1970). How many.
Result<size_t> drop_leftovers(const Directory& directory, int64_t before_ms);

}  // namespace drom::file
