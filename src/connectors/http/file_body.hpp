// Files as bodies: sent without being read into memory, and written while an answer arrives. All
// work on files happens on a lane; names are resolved below a directory that is held open, so that
// none leads out of it. Shard thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "connectors/http/body_sink.hpp"
#include "connectors/http/content_coding.hpp"
#include "drom/rt/body_stream.hpp"
#include "drom/rt/clock.hpp"
#include "rt/files/directory.hpp"
#include "rt/lane.hpp"

namespace drom {
class BuildContext;
}

namespace drom::http {

// The lane of all files of an engine's HTTP producers; made on first use.
std::shared_ptr<Lane> file_lane(BuildContext& context);

class FileSource final : public BodyStream {
 public:
  // Errors: rejected (no such file), and what errno says.
  static async<Result<std::unique_ptr<FileSource>>> open(std::shared_ptr<Lane> lane,
                                                         std::string directory, std::string name);
  std::optional<uint64_t> size() const override { return size_; }
  bool rewind() override {
    offset_ = 0;
    return true;
  }
  async<Result<std::string>> next() override;

 private:
  FileSource(std::shared_ptr<Lane> lane, std::shared_ptr<const file::Fd> fd, uint64_t size,
             std::string shown)
      : lane_(std::move(lane)), fd_(std::move(fd)), size_(size), shown_(std::move(shown)) {}

  std::shared_ptr<Lane> lane_;
  std::shared_ptr<const file::Fd> fd_;
  uint64_t size_;
  std::string shown_;
  uint64_t offset_ = 0;
};

struct FileSinkRules {
  std::function<bool(int status)> wanted;  // answers whose bodies are kept
  bool decode = true;
  DecodeLimits limits;
};

// Writes to a temporary name, made from `unique`; the file appears complete, by keep(), or not at
// all.
class FileSink final : public BodySink {
 public:
  static async<Result<std::unique_ptr<FileSink>>> open(std::shared_ptr<Lane> lane,
                                                       std::string directory, std::string name,
                                                       std::string unique, FileSinkRules rules);
  ~FileSink() override;
  bool begin(const Response& head) override;
  async<Result<void>> take(std::string bytes) override;
  bool began() const { return began_; }
  bool decoded() const { return decoder_ != nullptr; }
  uint64_t size() const { return size_; }
  // The absolute path of the file.
  async<Result<std::string>> keep();

 private:
  struct Files;
  async<Result<void>> write(std::string bytes);
  FileSink(std::shared_ptr<Lane> lane, std::shared_ptr<Files> files, FileSinkRules rules)
      : lane_(std::move(lane)), files_(std::move(files)), rules_(std::move(rules)) {}

  std::shared_ptr<Lane> lane_;
  std::shared_ptr<Files> files_;
  FileSinkRules rules_;
  std::unique_ptr<ContentDecoder> decoder_;
  uint64_t size_ = 0;
  bool began_ = false;
  bool kept_ = false;
  bool fresh_ = true;  // the next bytes are the first ones
};

// What the sinks of killed processes have left in the directory.
async<> drop_half_files(std::shared_ptr<Lane> lane, std::string directory, WallTime now);

}  // namespace drom::http
