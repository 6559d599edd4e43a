#include "drom/rt/unit_of_work.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

namespace drom {
namespace {

using Journal = std::vector<std::string>;

class FakeTransaction final : public TransactionResource {
 public:
  FakeTransaction(Journal& journal, Result<void> answer)
      : journal_(journal), answer_(std::move(answer)) {}
  async<Result<void>> commit() override {
    journal_.push_back("commit");
    co_return answer_;
  }
  async<> rollback() override {
    journal_.push_back("rollback");
    co_return;
  }

 private:
  Journal& journal_;
  Result<void> answer_;
};

class FakeSend final : public DeferredAction {
 public:
  FakeSend(Journal& journal, std::string name, Result<void> answer = {})
      : journal_(journal), name_(std::move(name)), answer_(std::move(answer)) {}
  async<Result<void>> run() override {
    journal_.push_back(name_);
    co_return answer_;
  }

 private:
  Journal& journal_;
  std::string name_;
  Result<void> answer_;
};

class FakeKeptSend final : public DeferredAction {
 public:
  explicit FakeKeptSend(std::string target) : target_(std::move(target)) {}
  async<Result<void>> run() override { co_return Error(ErrorKind::bug, "run, not kept"); }
  std::optional<KeptSend> take() override { return KeptSend{target_, Exchange()}; }

 private:
  std::string target_;
};

class FakeStore final : public SendStore {
 public:
  FakeStore(Journal& journal, Result<void> answer)
      : journal_(journal), answer_(std::move(answer)) {}
  async<Result<void>> store(UnitOfWork&, std::vector<KeptSend> sends) override {
    for (const KeptSend& send : sends) journal_.push_back("kept " + send.target);
    co_return answer_;
  }

 private:
  Journal& journal_;
  Result<void> answer_;
};

async<> commit_into(UnitOfWork& unit, Result<void>& out) { out = co_await unit.commit(); }

Result<void> commit(UnitOfWork& unit) {
  boost::asio::io_context io;
  Result<void> out = Error(ErrorKind::bug, "never ran");
  boost::asio::co_spawn(io, commit_into(unit, out), boost::asio::detached);
  io.run();
  return out;
}

void rollback(UnitOfWork& unit) {
  boost::asio::io_context io;
  boost::asio::co_spawn(io, unit.rollback(), boost::asio::detached);
  io.run();
}

TEST(UnitOfWork, CommitsFirstThenTellsThenSends) {
  Journal journal;
  UnitOfWork unit;
  unit.defer(std::make_unique<FakeSend>(journal, "send 1"));
  unit.enlist(&journal, "orders", std::make_unique<FakeTransaction>(journal, Result<void>()));
  unit.on_commit([&] { journal.push_back("told"); });
  unit.defer(std::make_unique<FakeSend>(journal, "send 2"));
  EXPECT_TRUE(commit(unit).ok());
  EXPECT_EQ(journal, (Journal{"commit", "told", "send 1", "send 2"}));
}

TEST(UnitOfWork, SendsNothingWhenTheCommitFails) {
  Journal journal;
  UnitOfWork unit;
  unit.enlist(&journal, "orders",
              std::make_unique<FakeTransaction>(journal, Error(ErrorKind::transient, "deadlock")));
  unit.defer(std::make_unique<FakeSend>(journal, "send"));
  unit.on_commit([&] { journal.push_back("told"); });
  EXPECT_EQ(commit(unit).error().what, "deadlock");
  EXPECT_EQ(journal, (Journal{"commit"}));
}

TEST(UnitOfWork, TriesEverySendAndReportsTheFirstFailure) {
  Journal journal;
  UnitOfWork unit;
  unit.defer(std::make_unique<FakeSend>(journal, "1", Error(ErrorKind::not_connected, "down")));
  unit.defer(std::make_unique<FakeSend>(journal, "2"));
  EXPECT_EQ(commit(unit).error().what, "down");
  EXPECT_EQ(journal, (Journal{"1", "2"}));
}

TEST(UnitOfWork, SendsThatCanBeKeptJoinTheTransaction) {
  Journal journal;
  FakeStore store(journal, Result<void>());
  UnitOfWork unit;
  unit.defer(std::make_unique<FakeKeptSend>("a"));
  unit.defer(std::make_unique<FakeSend>(journal, "send"));
  unit.defer(std::make_unique<FakeKeptSend>("b"));
  unit.enlist(&journal, "orders", std::make_unique<FakeTransaction>(journal, Result<void>()),
              &store);
  EXPECT_TRUE(commit(unit).ok());
  EXPECT_EQ(journal, (Journal{"kept a", "kept b", "commit", "send"}));
}

TEST(UnitOfWork, CommitsNothingWhoseSendsCannotBeKept) {
  Journal journal;
  FakeStore store(journal, Error(ErrorKind::rejected, "too large"));
  UnitOfWork unit;
  unit.defer(std::make_unique<FakeKeptSend>("a"));
  unit.defer(std::make_unique<FakeSend>(journal, "send"));
  unit.on_commit([&] { journal.push_back("told"); });
  unit.enlist(&journal, "orders", std::make_unique<FakeTransaction>(journal, Result<void>()),
              &store);
  EXPECT_EQ(commit(unit).error().what, "too large");
  EXPECT_FALSE(unit.committed());
  EXPECT_EQ(journal, (Journal{"kept a", "rollback"}));
}

TEST(UnitOfWork, RollbackDropsSendsAndCallbacks) {
  Journal journal;
  UnitOfWork unit;
  unit.enlist(&journal, "orders", std::make_unique<FakeTransaction>(journal, Result<void>()));
  unit.defer(std::make_unique<FakeSend>(journal, "send"));
  unit.on_commit([&] { journal.push_back("told"); });
  rollback(unit);
  EXPECT_EQ(journal, (Journal{"rollback"}));
}

TEST(UnitOfWork, RefusesASecondDataSourceByName) {
  Journal journal;
  UnitOfWork unit;
  unit.enlist(&journal, "orders", std::make_unique<FakeTransaction>(journal, Result<void>()));
  EXPECT_TRUE(unit.joined(&journal, "orders").ok());
  const Result<TransactionResource*> other = unit.joined(&unit, "billing");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().kind, ErrorKind::config);
  EXPECT_NE(other.error().what.find("'orders'"), std::string::npos);
  EXPECT_NE(other.error().what.find("'billing'"), std::string::npos);
}

}  // namespace
}  // namespace drom
