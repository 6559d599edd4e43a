#include "spi/memory_idempotent_repository.hpp"

#include <list>
#include <unordered_map>

#include "drom/rt/unit_of_work.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"

namespace drom {

async<Result<std::vector<bool>>> IdempotentRepository::add_all(std::string,
                                                               std::vector<std::string>, Batch&) {
  co_return Error(ErrorKind::bug, "this repository does not take batches");
}

namespace {

// Claimed keys belong to exchanges that are on their way and are never evicted: forgetting one
// would let a second delivery of the same message run beside the first.
class KeyTable {
 public:
  explicit KeyTable(size_t size_max) : size_max_(size_max) {}

  Result<bool> claim(std::string key, uint64_t owner) {
    if (const auto it = index_.find(key); it != index_.end()) {
      if (it->second->confirmed) confirmed_.splice(confirmed_.end(), confirmed_, it->second);
      return false;
    }
    if (index_.size() >= size_max_ && !evict_one())
      return Error(
          ErrorKind::transient,
          "all " + std::to_string(size_max_) + " keys of the idempotent repository are in use",
          "raise cacheSize above the number of messages on their way at once");
    claimed_.push_back(Entry{std::move(key), owner, false});
    const auto entry = std::prev(claimed_.end());
    index_.emplace(entry->key, entry);
    return true;
  }
  void confirm(std::string_view key, uint64_t owner) {
    const auto it = index_.find(key);
    if (it == index_.end() || it->second->confirmed || it->second->owner != owner) return;
    it->second->confirmed = true;
    confirmed_.splice(confirmed_.end(), claimed_, it->second);
  }
  // Only the exchange that has claimed a key may free it: a duplicate that failed must not open the
  // door for a third delivery.
  void remove(std::string_view key, uint64_t owner) {
    const auto it = index_.find(key);
    if (it == index_.end() || it->second->owner != owner) return;
    const Position entry = it->second;
    index_.erase(it);
    (entry->confirmed ? confirmed_ : claimed_).erase(entry);
  }
  bool contains(std::string_view key) const { return index_.contains(key); }

 private:
  struct Entry {
    std::string key;
    uint64_t owner = 0;
    bool confirmed = false;
  };
  using Position = std::list<Entry>::iterator;

  bool evict_one() {
    if (confirmed_.empty()) return false;
    index_.erase(confirmed_.front().key);
    confirmed_.pop_front();
    return true;
  }

  size_t size_max_;
  std::list<Entry> claimed_;
  std::list<Entry> confirmed_;                            // seen longest ago first
  std::unordered_map<std::string_view, Position> index_;  // views into the entries
};

// Confirms when the unit of work commits; destroyed without that (rollback), it frees the key, so
// that the redelivery is not taken for a duplicate.
class PendingConfirm {
 public:
  PendingConfirm(std::shared_ptr<KeyTable> table, std::string key, uint64_t owner)
      : table_(std::move(table)), key_(std::move(key)), owner_(owner) {}
  PendingConfirm(const PendingConfirm&) = delete;
  PendingConfirm& operator=(const PendingConfirm&) = delete;
  ~PendingConfirm() {
    if (!committed_) table_->remove(key_, owner_);
  }
  void commit() {
    committed_ = true;
    table_->confirm(key_, owner_);
  }

 private:
  std::shared_ptr<KeyTable> table_;
  std::string key_;
  uint64_t owner_;
  bool committed_ = false;
};

std::string joined(std::string_view consumer, std::string_view key) {
  std::string out(consumer);
  out += '\0';
  out += key;
  return out;
}

class MemoryIdempotentRepository final : public IdempotentRepository {
 public:
  explicit MemoryIdempotentRepository(size_t size_max)
      : table_(std::make_shared<KeyTable>(size_max)) {}

  async<Result<bool>> add(std::string_view consumer, std::string_view key,
                          Exchange& exchange) override {
    co_return table_->claim(joined(consumer, key), exchange.serial);
  }
  async<Result<void>> confirm(std::string_view consumer, std::string_view key,
                              Exchange& exchange) override {
    std::string full = joined(consumer, key);
    if (!exchange.unit) {
      table_->confirm(full, exchange.serial);
      co_return Result<void>();
    }
    const auto pending = std::make_shared<PendingConfirm>(table_, std::move(full), exchange.serial);
    exchange.unit->on_commit([pending] { pending->commit(); });
    co_return Result<void>();
  }
  async<Result<void>> remove(std::string_view consumer, std::string_view key,
                             Exchange& exchange) override {
    table_->remove(joined(consumer, key), exchange.serial);
    co_return Result<void>();
  }
  async<Result<bool>> contains(std::string_view consumer, std::string_view key) override {
    co_return table_->contains(joined(consumer, key));
  }

 private:
  std::shared_ptr<KeyTable> table_;
};

ConfigSpec bean_spec() {
  ConfigSpec spec;
  spec.name = "drom.memoryIdempotentRepository";
  spec.title = "In-memory idempotent repository";
  spec.doc =
      "Remembers handled message ids in memory. It forgets them at restart: use the SQL repository "
      "when a duplicate after a restart would do harm.";
  OptionSpec size;
  size.name = "cacheSize";
  size.type = OptionType::integer;
  size.doc = "How many keys are kept; beyond that the key seen longest ago is forgotten.";
  size.fallback = "1000";
  size.example = "100000";
  size.minimum = 1;
  spec.options.push_back(std::move(size));
  spec.example =
      "- beans:\n"
      "    - name: seen\n"
      "      type: drom.memoryIdempotentRepository\n"
      "      properties: {cacheSize: 100000}\n";
  return spec;
}

Result<void> make_bean(const std::string& name, const Config& config, BuildContext& context) {
  context.registry().bind<IdempotentRepository>(
      name, make_memory_idempotent_repository(static_cast<size_t>(config.integer("cacheSize"))));
  return {};
}

}  // namespace

std::shared_ptr<IdempotentRepository> make_memory_idempotent_repository(size_t cache_size) {
  return std::make_shared<MemoryIdempotentRepository>(cache_size);
}

void register_memory_idempotent_repository(Registry& registry) {
  BeanInfo info;
  info.type = "drom.memoryIdempotentRepository";
  info.spec = bean_spec;
  info.make = make_bean;
  info.aliases = {"org.apache.camel.support.processor.idempotent.MemoryIdempotentRepository",
                  "org.apache.camel.processor.idempotent.MemoryIdempotentRepository"};
  registry.add(std::move(info));
}

}  // namespace drom
