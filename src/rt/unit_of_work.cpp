#include "drom/rt/unit_of_work.hpp"

#include "rt/failpoint.hpp"

namespace drom {

Result<TransactionResource*> UnitOfWork::joined(const void* source, const std::string& name) const {
  if (!resource_) return static_cast<TransactionResource*>(nullptr);
  if (source == source_) return resource_.get();
  return Error(
      ErrorKind::config,
      "the transaction belongs to data source '" + name_ + "' and cannot include '" + name +
          "' as well",
      "two databases cannot commit together: keep the steps of one transacted block on one "
      "data source and reach the other through an outbox");
}

void UnitOfWork::enlist(const void* source, std::string name,
                        std::unique_ptr<TransactionResource> resource, SendStore* sends) {
  DROM_ASSERT(!resource_);
  source_ = source;
  sends_ = sends;
  name_ = std::move(name);
  resource_ = std::move(resource);
}

void UnitOfWork::defer(std::unique_ptr<DeferredAction> action) {
  deferred_.push_back(std::move(action));
}

async<Result<void>> UnitOfWork::store_sends() {
  std::vector<KeptSend> kept;
  std::vector<std::unique_ptr<DeferredAction>> others;
  for (auto& action : deferred_) {
    std::optional<KeptSend> send = action->take();
    if (send)
      kept.push_back(std::move(*send));
    else
      others.push_back(std::move(action));
  }
  deferred_ = std::move(others);
  if (kept.empty()) co_return Result<void>();
  Result<void> stored = co_await sends_->store(*this, std::move(kept));
  co_return stored;
}

async<Result<void>> UnitOfWork::commit() {
  DROM_ASSERT(!rollback_only_);
  if (resource_ && sends_ && !deferred_.empty()) {
    Result<void> stored = co_await store_sends();
    if (!stored) {
      co_await rollback();
      co_return stored;
    }
  }
  if (resource_) {
    const std::unique_ptr<TransactionResource> resource = std::move(resource_);
    Result<void> committed;
    if (failpoint("uow.before_commit")) {
      co_await resource->rollback();
      committed = failpoint_error("uow.before_commit");
    } else {
      committed = co_await resource->commit();
    }
    if (committed && failpoint("uow.after_commit"))
      committed = Error(ErrorKind::not_connected, "whether the work was committed is unknown");
    if (!committed) {
      deferred_.clear();
      co_return committed;
    }
  }
  committed_ = true;
  for (const auto& callback : after_commit_) callback();
  after_commit_.clear();
  Result<void> out;
  // Every send gets its chance: the database has committed, so one broken target must not silence
  // the others.
  const std::vector<std::unique_ptr<DeferredAction>> actions = std::move(deferred_);
  deferred_.clear();
  for (const auto& action : actions) {
    if (failpoint("deferred.before")) {
      out = failpoint_error("deferred.before");
      continue;
    }
    Result<void> sent = co_await action->run();
    if (sent && failpoint("deferred.after")) sent = failpoint_error("deferred.after");
    if (!sent && out.ok()) out = std::move(sent);
  }
  co_return out;
}

async<> UnitOfWork::rollback() {
  deferred_.clear();
  after_commit_.clear();
  if (!resource_) co_return;
  const std::unique_ptr<TransactionResource> resource = std::move(resource_);
  co_await resource->rollback();
}

}  // namespace drom
