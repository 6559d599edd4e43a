#include "connectors/file/file_endpoint.hpp"
#include "connectors/file/writer.hpp"
#include "drom/rt/body_stream.hpp"
#include "rt/files/temporary.hpp"

namespace drom::file {
namespace {

constexpr size_t kBlockBytes = 256 * 1024;  // of a stream, per visit to the lane

Result<Content> content_of(const Value& body, bool allow_null) {
  Content out;
  if (const Bytes* bytes = body.as_bytes()) {
    out.bytes = *bytes;
    return out;
  }
  if (body.is_null() && !allow_null)
    return Error(ErrorKind::data, "the body is null", "set a body, or allowNullBody=true");
  out.text = body.to_text();
  return out;
}

class FileProducer final : public Producer {
 public:
  FileProducer(std::shared_ptr<const ProducerOptions> options, Lane& lane)
      : options_(std::move(options)), lane_(lane) {}

  bool defers_in_transaction() const override { return options_->transacted; }
  bool takes_streams() const override {
    return options_->exist != FileExist::append &&
           (!options_->file_name || !options_->file_name->reads_body());
  }

  async<Result<void>> open() override {
    Result<void> opened = co_await open_directories();
    co_return opened;
  }
  async<> close() override {
    directory_.reset();
    outside_.reset();
    co_return;
  }

  async<> run(Batch& batch, Scope& scope) override {
    if (!cleaned_) co_await clean(scope.clock);
    if (batch.size() == 1 && batch.front().message.stream) {
      Result<void> done = co_await write_stream(batch.front(), scope);
      if (!done) batch.front().fail(std::move(done.error()));
      co_return;
    }
    if (has_streams(batch)) co_await read_in(batch);
    Result<void> ready = co_await write_batch(batch, scope);
    if (ready) co_return;
    for (Exchange& exchange : batch)
      if (exchange.running()) exchange.fail(ready.error());
  }

 private:
  struct Written {
    bool gone = false;
    std::vector<Result<std::string>> files;
  };

  async<Result<void>> open_directories() {
    auto job = [options = options_] {
      return Directory::open(options->path, FolderRules{options->auto_create});
    };
    Result<DirectoryPtr> opened = co_await lane_.call(std::move(job));
    if (!opened) co_return opened.error();
    directory_ = std::move(*opened);
    if (!options_->move_existing || options_->move_existing->elsewhere().empty())
      co_return Result<void>();
    std::string path = options_->move_existing->elsewhere();
    if (!path.starts_with('/')) path = joined(directory_->path(), path);
    auto second = [path] { return Directory::open(path, FolderRules{}); };
    Result<DirectoryPtr> outside = co_await lane_.call(std::move(second));
    if (!outside) co_return outside.error();
    outside_ = std::move(*outside);
    co_return Result<void>();
  }

  // An error here concerns the whole batch; errors of single files are on their exchanges.
  async<Result<void>> write_batch(Batch& batch, Scope& scope) {
    for (int attempt = 1;; ++attempt) {
      if (!directory_) {
        Result<void> opened = co_await open_directories();
        if (!opened) co_return opened;
      }
      std::vector<WriteJob> jobs;
      std::vector<size_t> places;
      for (size_t i = 0; i < batch.size(); ++i) {
        if (!batch[i].running()) continue;
        Result<WriteJob> job = make_job(batch[i], scope);
        if (!job) {
          batch[i].fail(job.error());
          continue;
        }
        jobs.push_back(std::move(*job));
        places.push_back(i);
      }
      if (jobs.empty()) co_return Result<void>();
      auto work = [directory = directory_, jobs = std::move(jobs)] {
        Written out;
        out.gone = directory->gone();
        if (out.gone) return out;
        for (const WriteJob& job : jobs) out.files.push_back(write_file(job));
        return out;
      };
      Written written = co_await lane_.call(std::move(work));
      if (written.gone) {
        directory_.reset();
        if (attempt == 1) continue;
        co_return gone();
      }
      for (size_t i = 0; i < places.size(); ++i) {
        Exchange& exchange = batch[places[i]];
        if (written.files[i]) {
          exchange.message.headers.set("CamelFileNameProduced", *written.files[i]);
        } else {
          exchange.fail(written.files[i].error());
        }
      }
      co_return Result<void>();
    }
  }

  async<Result<void>> write_stream(Exchange& exchange, Scope& scope) {
    Result<std::unique_ptr<NewFile>> begun = co_await begin_file(exchange, scope);
    if (!begun) co_return std::move(begun.error());
    const std::shared_ptr<NewFile> file = std::move(*begun);
    const std::shared_ptr<BodyStream> stream = exchange.message.stream;
    if (file->wanted() && !stream->rewind())
      co_return Error(ErrorKind::data, "the body is a stream that has been read already");
    while (file->wanted()) {
      Result<std::string> block = co_await next_block(*stream, kBlockBytes);
      if (!block) co_return std::move(block.error());
      if (block->empty()) break;
      auto work = [file, bytes = std::move(*block)] { return file->write(bytes); };
      Result<void> written = co_await lane_.call(std::move(work));
      if (!written) co_return written;
    }
    auto last = [file] { return file->finish(); };
    Result<std::string> path = co_await lane_.call(std::move(last));
    if (!path) co_return std::move(path.error());
    exchange.message.headers.set("CamelFileNameProduced", std::move(*path));
    co_return Result<void>();
  }

  async<Result<std::unique_ptr<NewFile>>> begin_file(const Exchange& exchange, Scope& scope) {
    for (int attempt = 1;; ++attempt) {
      if (!directory_) {
        Result<void> opened = co_await open_directories();
        if (!opened) co_return std::move(opened.error());
      }
      Result<WriteJob> job = make_job(exchange, scope);
      if (!job) co_return std::move(job.error());
      auto work = [directory = directory_,
                   job = std::move(*job)]() -> Result<std::unique_ptr<NewFile>> {
        if (directory->gone()) return std::unique_ptr<NewFile>();
        return NewFile::begin(job);
      };
      Result<std::unique_ptr<NewFile>> file = co_await lane_.call(std::move(work));
      if (!file || *file) co_return file;
      directory_.reset();
      if (attempt == 2) co_return gone();
    }
  }

  Error gone() const {
    return Error(ErrorKind::not_connected, "the directory '" + options_->path + "' is gone");
  }

  Result<WriteJob> make_job(const Exchange& exchange, Scope& scope) const {
    WriteJob job;
    job.options = options_;
    job.directory = directory_;
    std::string name = std::string(scope.env.instance()) + "-" + std::to_string(exchange.serial);
    if (options_->file_name) {
      Result<Value> value = options_->file_name->evaluate(exchange, scope.eval());
      if (!value) return value.error();
      name = value->to_text();
    }
    Result<std::string> safe = safe_name(name);
    if (!safe) return safe.error();
    job.name = options_->flatten ? std::string(base_of(*safe)) : std::move(*safe);
    if (!exchange.message.stream) {
      Result<Content> content = content_of(exchange.message.body, options_->allow_null_body);
      if (!content) return content.error();
      job.content = std::move(*content);
    }
    if (options_->temp_prefix.empty()) {
      job.temporary_base = temporary_name(scope.rng.uuid());
    } else {
      job.temporary_base = options_->temp_prefix + std::string(base_of(job.name));
    }
    if (options_->move_existing) {
      Result<Spot> spot = old_goes_to(job.name, exchange, scope);
      if (!spot) return spot.error();
      job.old_goes_to = std::move(*spot);
    }
    return job;
  }

  // ${file:name} in moveExisting is the existing file.
  Result<Spot> old_goes_to(const std::string& name, const Exchange& exchange, Scope& scope) const {
    Exchange probe = exchange.copy();
    probe.message.headers.set("CamelFileName", name);
    probe.message.headers.set("CamelFileNameOnly", base_of(name));
    const Spot file{directory_, name};
    return options_->move_existing->spot(file, outside_, probe, scope.eval());
  }

  // Once, at the first write: opening knows no time.
  async<> clean(Clock& clock) {
    if (!directory_) co_return;
    cleaned_ = true;
    auto work = [directory = directory_, now = clock.wall()] {
      return drop_leftovers(*directory, now);
    };
    // A directory that cannot be listed can still be written to.
    (void)co_await lane_.call(std::move(work));
  }

  std::shared_ptr<const ProducerOptions> options_;
  Lane& lane_;
  DirectoryPtr directory_;
  DirectoryPtr outside_;  // of moveExisting, when it leads elsewhere
  bool cleaned_ = false;
};

}  // namespace

std::unique_ptr<Producer> make_producer(const ProducerOptions& options, Lane& lane) {
  return std::make_unique<FileProducer>(std::make_shared<const ProducerOptions>(options), lane);
}

}  // namespace drom::file
