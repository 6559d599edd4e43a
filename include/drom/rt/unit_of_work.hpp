// One attempt of a `transacted` block: at most one database transaction, opened on first use, plus
// the sends that must wait for its commit. Order at the end: commit, deferred sends, then the
// source is acknowledged (by the engine). Owned by the transacted step; exchanges point to it.
// Shard thread only. Pattern: Unit of Work (Fowler), Transactional Client (EIP).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drom/base/error.hpp"
#include "drom/model/exchange.hpp"
#include "drom/rt/async.hpp"

namespace drom {

// A database transaction that has joined the unit; src/sql implements it.
class TransactionResource {
 public:
  virtual ~TransactionResource() = default;
  // An error means rolled back, except ErrorKind::timeout / not_connected: outcome unknown.
  virtual async<Result<void>> commit() = 0;
  virtual async<> rollback() = 0;
};

// A send that a table can keep: where to, and what.
struct KeptSend {
  std::string target;  // names one of the endpoints that the routes send to
  Exchange exchange;
};

// A send that waits for the commit. Must be safe to destroy without being run (rollback).
class DeferredAction {
 public:
  virtual ~DeferredAction() = default;
  virtual async<Result<void>> run() = 0;
  // Gives up the send so that it can be stored; nothing: it can only be run.
  virtual std::optional<KeptSend> take() { return std::nullopt; }
};

class UnitOfWork;

// Stores sends in the transaction that has joined the unit, all in one trip and in order; a relay
// sends them later. So the work is never committed without what it announces.
class SendStore {
 public:
  virtual ~SendStore() = default;
  virtual async<Result<void>> store(UnitOfWork& unit, std::vector<KeptSend> sends) = 0;
};

class UnitOfWork {
 public:
  UnitOfWork() = default;
  UnitOfWork(const UnitOfWork&) = delete;
  UnitOfWork& operator=(const UnitOfWork&) = delete;

  // The joined resource when it belongs to `source`, null when none has joined yet. A second data
  // source is an error: two databases cannot commit together.
  Result<TransactionResource*> joined(const void* source, const std::string& name) const;
  // With a store, deferred sends become part of the transaction; it outlives the unit.
  void enlist(const void* source, std::string name, std::unique_ptr<TransactionResource> resource,
              SendStore* sends = nullptr);

  void defer(std::unique_ptr<DeferredAction> action);
  void mark_rollback_only() { rollback_only_ = true; }
  bool rollback_only() const { return rollback_only_; }

  // Stores the deferred sends where the data source keeps them, commits, and runs the others in
  // order; or rolls back and drops them. A deferred send that fails after the commit is reported as
  // the result; the commit stands.
  async<Result<void>> commit();
  // After commit(): the database (if one has joined) has committed, whatever became of the sends.
  bool committed() const { return committed_; }
  async<> rollback();

  // Run after a commit or after a rollback: caches that may only learn what the database knows.
  void on_commit(std::function<void()> callback) { after_commit_.push_back(std::move(callback)); }

 private:
  async<Result<void>> store_sends();

  const void* source_ = nullptr;
  SendStore* sends_ = nullptr;
  std::string name_;
  std::unique_ptr<TransactionResource> resource_;
  std::vector<std::unique_ptr<DeferredAction>> deferred_;
  std::vector<std::function<void()>> after_commit_;
  bool rollback_only_ = false;
  bool committed_ = false;
};

}  // namespace drom
