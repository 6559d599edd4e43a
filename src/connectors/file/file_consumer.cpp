#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "connectors/file/file_endpoint.hpp"
#include "drom/base/bytes.hpp"

namespace drom::file {
namespace {

// Files claimed and read in one trip to the lane. Their contents are in memory together.
constexpr size_t kPollMax = 16;
// Failed files whose pause is remembered; forgetting one only means an earlier retry.
constexpr size_t kRetriesMax = 10'000;

// A file on its way through the route, as it was when it was taken: what the route does to the
// headers changes neither where the file goes nor its idempotent key.
struct InFlight {
  Spot origin;
  Spot at;
  Headers headers;
  std::shared_ptr<Marker> marker;
  std::string key;    // idempotent key
  Exchange identity;  // the owner of the key
};

struct Retry {
  int failures = 0;
  SteadyTime due{};
};

// A handled file that could not be moved or deleted. It must not be handled again.
struct Unfinished {
  FinishJob job;
  Retry retry;
};

// readLock=changed: since when the file looks like this.
struct Seen {
  int64_t size = 0;
  int64_t modified_ms = 0;
  SteadyTime since{};
};

Headers headers_of(const FileInfo& info, const Directory& directory, const std::string& path) {
  const std::string full = joined(directory.path(), info.name);
  Headers out;
  out.reserve(11);
  out.append("CamelFileName", info.name);
  out.append("CamelFileNameOnly", base_of(info.name));
  out.append("CamelFileNameConsumed", info.name);
  out.append("CamelFileAbsolute", path.starts_with('/'));
  out.append("CamelFileAbsolutePath", full);
  out.append("CamelFilePath", joined(path, info.name));
  out.append("CamelFileRelativePath", info.name);
  out.append("CamelFileParent", folder_of(joined(path, info.name)));
  out.append("CamelFileLength", info.size);
  out.append("CamelFileLastModified", info.modified_ms);
  out.append("CamelMessageTimestamp", info.modified_ms);
  return out;
}

class FileConsumer final : public Consumer {
 public:
  FileConsumer(std::shared_ptr<const ConsumerOptions> options, Services services)
      : options_(std::move(options)), o_(*options_), s_(services), alarm_(s_.clock.make_alarm()) {}

  ConsumerTraits traits() const override {
    ConsumerTraits traits;
    traits.poll_max = kPollMax;
    return traits;
  }
  async<Result<void>> open() override;
  async<Result<Batch>> poll(size_t max) override;
  async<Result<void>> settle(std::vector<Receipt> receipts) override;
  void stop() override {
    stopped_ = true;
    alarm_->ring();
  }
  async<> close() override {
    waiting_.clear();
    first_look_ = true;
    co_return;
  }

 private:
  async<Result<DirectoryPtr>> open_outside(const Target* target);
  async<> pause();
  async<Result<void>> look_around();
  bool may_take(const FileInfo& file, SteadyTime now);
  bool stands_still(const FileInfo& file, SteadyTime now);
  async<Result<bool>> claim_key(InFlight& file);
  async<> free_key(InFlight& file);
  Result<std::optional<Spot>> spot_of(const std::optional<Target>& target,
                                      const DirectoryPtr& outside, const Spot& file,
                                      const Exchange& exchange) const;
  async<Result<Batch>> take(std::vector<InFlight> files);
  Exchange deliver(InFlight file, Claimed claimed);
  FinishJob plan(const InFlight& file, Receipt& receipt) const;
  async<> settled(InFlight file, Outcome outcome, FinishJob job, Result<void> result);
  async<> finish_leftovers();
  void note_failure(const std::string& name);
  Retry next(Retry retry) const;
  bool last_of_look() const {
    return waiting_.empty() && in_flight_.size() <= 1 && retries_.empty();
  }
  EvalScope scope() const { return EvalScope{s_.env, "", ""}; }
  void warn(const std::string& text) const { s_.log.warn("file", o_.uri + ": " + text); }

  std::shared_ptr<const ConsumerOptions> options_;  // shared with work on the lane
  const ConsumerOptions& o_;
  Services s_;
  std::unique_ptr<Alarm> alarm_;
  DirectoryPtr directory_;
  DirectoryPtr move_outside_, failed_outside_, pre_outside_;
  std::deque<FileInfo> waiting_;  // found, not yet taken
  std::unordered_map<uint64_t, InFlight> in_flight_;
  std::unordered_set<std::string> busy_;  // names in flight or unfinished
  std::unordered_map<std::string, Retry> retries_;
  std::unordered_map<std::string, Seen> seen_;
  std::vector<Unfinished> unfinished_;
  uint64_t deliveries_ = 0;
  bool first_look_ = true;
  bool last_look_found_ = false;
  bool stopped_ = false;
};

async<Result<DirectoryPtr>> FileConsumer::open_outside(const Target* target) {
  if (!target || target->elsewhere().empty()) co_return DirectoryPtr();
  std::string path = target->elsewhere();
  if (!path.starts_with('/')) path = joined(directory_->path(), path);
  auto job = [path] { return Directory::open(path, FolderRules{}); };
  Result<DirectoryPtr> opened = co_await s_.lane.call(std::move(job));
  co_return opened;
}

async<Result<void>> FileConsumer::open() {
  stopped_ = false;
  auto job = [path = o_.path, create = o_.auto_create] {
    return Directory::open(path, FolderRules{create});
  };
  Result<DirectoryPtr> opened = co_await s_.lane.call(std::move(job));
  if (!opened) co_return opened.error();
  directory_ = std::move(*opened);
  Result<DirectoryPtr> move = co_await open_outside(&o_.move);
  if (!move) co_return move.error();
  move_outside_ = std::move(*move);
  Result<DirectoryPtr> failed = co_await open_outside(o_.move_failed ? &*o_.move_failed : nullptr);
  if (!failed) co_return failed.error();
  failed_outside_ = std::move(*failed);
  Result<DirectoryPtr> pre = co_await open_outside(o_.pre_move ? &*o_.pre_move : nullptr);
  if (!pre) co_return pre.error();
  pre_outside_ = std::move(*pre);

  Recovery recovery;
  recovery.recursive = o_.scan.recursive;
  recovery.orphan_markers = o_.orphan_markers && o_.lock == ReadLock::marker_file;
  if (o_.pre_move && o_.pre_move->plain()) recovery.pre_move = o_.pre_move->beside();
  auto repair = [directory = directory_, recovery] { return recover(*directory, recovery); };
  Result<size_t> returned = co_await s_.lane.call(std::move(repair));
  if (!returned) co_return returned.error();
  if (*returned > 0)
    warn(std::to_string(*returned) + " files that an earlier process had not finished come back");
  co_return Result<void>();
}

async<> FileConsumer::pause() {
  const milliseconds pause = first_look_                     ? o_.initial_delay
                             : o_.greedy && last_look_found_ ? milliseconds(0)
                                                             : o_.delay;
  const SteadyTime until = s_.clock.steady() + pause;
  while (!stopped_) {
    const auto left = std::chrono::ceil<milliseconds>(until - s_.clock.steady());
    if (left <= milliseconds(0)) co_return;
    co_await alarm_->wait(left);
  }
}

async<Result<Batch>> FileConsumer::poll(size_t max) {
  if (waiting_.empty()) {
    co_await pause();
    if (stopped_) co_return Batch();
    co_await finish_leftovers();
    Result<void> looked = co_await look_around();
    if (!looked) co_return looked.error();
  }
  std::vector<InFlight> files;
  while (!waiting_.empty() && files.size() < max && !stopped_) {
    InFlight file;
    file.origin = Spot{directory_, waiting_.front().name};
    file.headers = headers_of(waiting_.front(), *directory_, o_.path);
    waiting_.pop_front();
    Result<bool> claimed = co_await claim_key(file);
    if (!claimed && files.empty()) co_return claimed.error();
    if (!claimed) break;  // first those that are claimed already; this one is found again
    if (*claimed) files.push_back(std::move(file));
  }
  if (files.empty()) co_return Batch();
  Result<Batch> taken = co_await take(std::move(files));
  co_return taken;
}

async<Result<void>> FileConsumer::look_around() {
  std::string only;
  if (o_.file_name) {
    const Exchange nothing;
    Result<Value> name = o_.file_name->evaluate(nothing, scope());
    if (!name) co_return name.error();
    Result<std::string> safe = safe_name(name->to_text());
    if (!safe) co_return safe.error();
    only = std::move(*safe);
  }
  auto job = [directory = directory_, options = options_, only] {
    return scan(*directory, options->scan, only);
  };
  Result<Scan> scanned = co_await s_.lane.call(std::move(job));
  if (!scanned) co_return scanned.error();
  if (scanned->files.empty() && directory_->gone())
    co_return Error(ErrorKind::not_connected, "the directory '" + directory_->path() + "' is gone");
  if (first_look_ && scanned->truncated)
    warn("more than " + std::to_string(kScanMax) + " files; taking the first ones");
  first_look_ = false;

  const SteadyTime now = s_.clock.steady();
  std::unordered_map<std::string, Seen> still_there;
  for (FileInfo& file : scanned->files) {
    const bool ready = may_take(file, now);
    if (o_.lock == ReadLock::changed) {
      if (const auto it = seen_.find(file.name); it != seen_.end())
        still_there.insert(seen_.extract(it));
    }
    if (!ready) continue;
    waiting_.push_back(std::move(file));
    if (o_.max_messages_per_poll > 0 && waiting_.size() >= o_.max_messages_per_poll) break;
  }
  seen_ = std::move(still_there);
  last_look_found_ = !waiting_.empty();
  co_return Result<void>();
}

bool FileConsumer::may_take(const FileInfo& file, SteadyTime now) {
  if (busy_.contains(file.name)) return false;
  if (const auto it = retries_.find(file.name); it != retries_.end() && now < it->second.due)
    return false;
  return o_.lock != ReadLock::changed || stands_still(file, now);
}

bool FileConsumer::stands_still(const FileInfo& file, SteadyTime now) {
  Seen& seen = seen_[file.name];
  if (seen.since == SteadyTime() || seen.size != file.size ||
      seen.modified_ms != file.modified_ms) {
    seen = Seen{file.size, file.modified_ms, now};
    // A time of zero would look like "never seen".
    if (seen.since == SteadyTime()) seen.since += nanoseconds(1);
  }
  if (file.size < o_.min_length || now - seen.since < o_.check_interval) return false;
  // Without a minimum the two clocks, ours and the file server's, need not agree.
  if (o_.min_age == milliseconds(0)) return true;
  const auto wall_ms = std::chrono::floor<milliseconds>(s_.clock.wall().time_since_epoch());
  return wall_ms - milliseconds(file.modified_ms) >= o_.min_age;
}

// True when the file is new to the repository; then its key belongs to `file`.
async<Result<bool>> FileConsumer::claim_key(InFlight& file) {
  if (!o_.repository) co_return true;
  Exchange probe;
  probe.message.headers = file.headers;
  file.key = joined(directory_->path(), file.origin.name);
  if (o_.idempotent_key) {
    Result<Value> key = o_.idempotent_key->evaluate(probe, scope());
    if (!key) co_return key.error();
    file.key = key->to_text();
  }
  file.identity.serial = ++deliveries_;
  Result<bool> added = co_await o_.repository->add(o_.uri, file.key, file.identity);
  co_return added;
}

async<> FileConsumer::free_key(InFlight& file) {
  if (!o_.repository) co_return;
  Result<void> freed = co_await o_.repository->remove(o_.uri, file.key, file.identity);
  if (!freed) warn("idempotent repository: " + freed.error().message());
}

Result<std::optional<Spot>> FileConsumer::spot_of(const std::optional<Target>& target,
                                                  const DirectoryPtr& outside, const Spot& file,
                                                  const Exchange& exchange) const {
  if (!target) return std::optional<Spot>();
  Result<Spot> spot = target->spot(file, outside, exchange, scope());
  if (!spot) return spot.error();
  return std::optional<Spot>(std::move(*spot));
}

async<Result<Batch>> FileConsumer::take(std::vector<InFlight> files) {
  std::vector<ClaimJob> jobs;
  std::vector<InFlight> wanted;
  std::optional<Error> problem;
  for (InFlight& file : files) {
    Exchange probe;
    probe.message.headers = file.headers;
    Result<std::optional<Spot>> first = spot_of(o_.pre_move, pre_outside_, file.origin, probe);
    if (!first) {
      problem = first.error();
      co_await free_key(file);
      continue;
    }
    ClaimJob job;
    job.at = file.origin;
    job.move_first = std::move(*first);
    job.lock = o_.lock;
    job.body_max = o_.body_max;
    jobs.push_back(std::move(job));
    wanted.push_back(std::move(file));
  }
  auto work = [jobs = std::move(jobs)] {
    std::vector<Claimed> out;
    out.reserve(jobs.size());
    for (const ClaimJob& job : jobs) out.push_back(claim(job));
    return out;
  };
  std::vector<Claimed> claimed = co_await s_.lane.call(std::move(work));

  Batch batch;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool taken =
        claimed[i].state == Claimed::State::ready || claimed[i].state == Claimed::State::unreadable;
    if (taken) {
      batch.push_back(deliver(std::move(wanted[i]), std::move(claimed[i])));
      continue;
    }
    co_await free_key(wanted[i]);
    if (claimed[i].state != Claimed::State::failed) continue;
    note_failure(wanted[i].origin.name);
    problem = std::move(claimed[i].error);
    warn(problem->message());
  }
  // What was taken counts more than what could not be: the rest is tried again later.
  if (batch.empty() && problem && problem->kind == ErrorKind::not_connected) co_return *problem;
  co_return batch;
}

Exchange FileConsumer::deliver(InFlight file, Claimed claimed) {
  file.at = std::move(claimed.at);
  file.marker = std::move(claimed.marker);
  file.headers = headers_of(claimed.info, *directory_, o_.path);
  Exchange exchange;
  exchange.message.headers = file.headers;
  exchange.delivery = ++deliveries_;
  if (claimed.error) {
    exchange.fail(std::move(*claimed.error));
  } else if (!o_.utf8) {
    exchange.message.body = Bytes(std::move(claimed.body));
  } else if (is_utf8(claimed.body)) {
    exchange.message.body = std::move(claimed.body);
  } else {
    exchange.message.body = Bytes(std::move(claimed.body));
    exchange.fail(Error(ErrorKind::data, "'" + file.origin.name + "' is not UTF-8",
                        "leave charset out to take the bytes as they are"));
  }
  if (exchange.failed()) warn(exchange.error->message());
  busy_.insert(file.origin.name);
  in_flight_.emplace(exchange.delivery, std::move(file));
  return exchange;
}

// Where the file goes now that its route has ended.
FinishJob FileConsumer::plan(const InFlight& file, Receipt& receipt) const {
  FinishJob job;
  job.at = file.at;
  job.origin = file.origin;
  job.marker = file.marker;
  const auto move_to = [&](Spot spot) {
    job.action = FinishJob::Action::move;
    job.target = std::move(spot);
  };
  const auto give_back = [&] {
    if (file.at.name == file.origin.name && file.at.directory == file.origin.directory) return;
    move_to(file.origin);
    job.replace = false;
  };
  // ${file:name} is the file that was read, even when the route has changed the header.
  for (const auto& [name, value] : file.headers) receipt.exchange.message.headers.set(name, value);
  if (receipt.outcome == Outcome::done) {
    // A fixed done file belongs to all files of its folder: it goes with the last one.
    const DoneName& done = o_.scan.done;
    if (done.used() && !o_.noop && (!done.fixed() || last_of_look()))
      job.done_file = done.of(base_of(file.origin.name));
    if (o_.remove) {
      job.action = FinishJob::Action::remove;
    } else if (!o_.noop) {
      Result<Spot> spot = o_.move.spot(file.origin, move_outside_, receipt.exchange, scope());
      // A name that cannot be is no reason to handle the file twice.
      if (!spot) warn("move: " + spot.error().message() + "; moving to .camel");
      const Spot fallback{
          file.origin.directory,
          joined(joined(folder_of(file.origin.name), ".camel"), base_of(file.origin.name))};
      move_to(spot ? *spot : fallback);
    }
    return job;
  }
  if (receipt.outcome == Outcome::failed && o_.move_failed) {
    Result<std::optional<Spot>> spot =
        spot_of(o_.move_failed, failed_outside_, file.origin, receipt.exchange);
    if (spot) {
      move_to(std::move(**spot));
      return job;
    }
    warn("moveFailed: " + spot.error().message() + "; the file stays");
  }
  give_back();
  return job;
}

async<Result<void>> FileConsumer::settle(std::vector<Receipt> receipts) {
  std::vector<InFlight> files;
  std::vector<Outcome> outcomes;
  std::vector<FinishJob> jobs;
  for (Receipt& receipt : receipts) {
    const auto it = in_flight_.find(receipt.exchange.delivery);
    DROM_ASSERT(it != in_flight_.end());
    jobs.push_back(plan(it->second, receipt));
    outcomes.push_back(receipt.outcome);
    files.push_back(std::move(it->second));
    in_flight_.erase(it);
  }
  auto work = [jobs] {
    std::vector<Result<void>> out;
    for (const FinishJob& job : jobs) out.push_back(finish(job));
    return out;
  };
  std::vector<Result<void>> results = co_await s_.lane.call(std::move(work));
  for (size_t i = 0; i < files.size(); ++i)
    co_await settled(std::move(files[i]), outcomes[i], std::move(jobs[i]), std::move(results[i]));
  co_return Result<void>();
}

async<> FileConsumer::settled(InFlight file, Outcome outcome, FinishJob job, Result<void> result) {
  const std::string& name = file.origin.name;
  const bool done = outcome == Outcome::done;
  if (!done) co_await free_key(file);
  if (done && o_.repository) {
    Result<void> kept = co_await o_.repository->confirm(o_.uri, file.key, file.identity);
    if (!kept) warn("idempotent repository: " + kept.error().message());
  }
  if (result) {
    busy_.erase(name);
    if (outcome == Outcome::failed) note_failure(name);
    if (done) retries_.erase(name);
    co_return;
  }
  warn((done ? "a handled file could not be put away, trying again: "
             : "a file could not be given back, trying again: ") +
       result.error().message());
  unfinished_.push_back(Unfinished{std::move(job), next(Retry())});
}

async<> FileConsumer::finish_leftovers() {
  const SteadyTime now = s_.clock.steady();
  for (size_t i = 0; i < unfinished_.size();) {
    if (now < unfinished_[i].retry.due) {
      ++i;
      continue;
    }
    auto work = [job = unfinished_[i].job] { return finish(job); };
    Result<void> finished = co_await s_.lane.call(std::move(work));
    // Somebody has taken the file away: nothing is left to do.
    if (finished || finished.error().type == "ENOENT") {
      busy_.erase(unfinished_[i].job.origin.name);
      unfinished_.erase(unfinished_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    unfinished_[i].retry = next(unfinished_[i].retry);
    ++i;
  }
}

Retry FileConsumer::next(Retry retry) const {
  const int doublings = std::min(retry.failures, 20);
  ++retry.failures;
  const milliseconds pause =
      std::min(o_.retry_delay * (int64_t{1} << doublings), o_.retry_delay_max);
  retry.due = s_.clock.steady() + pause;
  return retry;
}

void FileConsumer::note_failure(const std::string& name) {
  if (retries_.size() >= kRetriesMax) retries_.clear();
  Retry& retry = retries_[name];
  retry = next(retry);
}

}  // namespace

std::unique_ptr<Consumer> make_consumer(const ConsumerOptions& options, const Services& services) {
  return std::make_unique<FileConsumer>(std::make_shared<const ConsumerOptions>(options), services);
}

}  // namespace drom::file
