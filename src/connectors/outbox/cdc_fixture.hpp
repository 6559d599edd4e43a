// What the tests of CDC mode on a real PostgreSQL share.
#pragma once

#include "connectors/outbox/cdc_slot.hpp"
#include "connectors/outbox/log_mode_fixture.hpp"

namespace drom::outbox {

// Ends, as a lost connection does, after each `every` events.
class CutStream final : public sql::ReplicationStream {
 public:
  CutStream(std::unique_ptr<sql::ReplicationStream> inner, size_t every, int& cuts)
      : inner_(std::move(inner)), left_(every), cuts_(cuts) {}
  async<Result<void>> start(std::string slot, std::string publication) override {
    Result<void> started = co_await inner_->start(std::move(slot), std::move(publication));
    co_return started;
  }
  async<Result<std::vector<sql::WalEvent>>> read(size_t, milliseconds timeout) override {
    if (left_ == 0) {
      ++cuts_;
      co_return Error(ErrorKind::not_connected, "the stream was cut");
    }
    Result<std::vector<sql::WalEvent>> events = co_await inner_->read(left_, timeout);
    if (events) left_ -= events->size();
    co_return events;
  }
  void interrupt() override { inner_->interrupt(); }
  void confirm(sql::Lsn lsn) override { inner_->confirm(lsn); }
  Result<void> keep_alive() override { return inner_->keep_alive(); }

 private:
  std::unique_ptr<sql::ReplicationStream> inner_;
  size_t left_;
  int& cuts_;
};

class CdcModeDb : public LogModeDb {
 protected:
  std::unique_ptr<UnsureDatabase> unsure;
  int cuts = 0;

  bool streams() {
    return until([&] {
      const auto relays = board.read();
      return std::ranges::any_of(relays, [](const auto& entry) { return entry.second.streaming; });
    });
  }
  bool polls() {
    return until([&] {
      const auto relays = board.read();
      return std::ranges::none_of(relays, [](const auto& entry) { return entry.second.streaming; });
    });
  }
  void emit(const std::string& text) {
    run("SELECT pg_logical_emit_message(true, 'drom.outbox_x', '" + text + "')");
  }
  bool slot_exists() {
    return number("SELECT count(*) FROM pg_replication_slots WHERE slot_name = '" +
                  options.cdc.slot + "'") == 1;
  }
  // Whoever reads it.
  void end_session_of_slot() {
    run("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '" +
        options.cdc.slot + "' AND active_pid IS NOT NULL");
  }
  int logged(const std::string& part) {
    return static_cast<int>(std::ranges::count_if(harness.captured.lines, [&](const auto& line) {
      return line.message.find(part) != std::string::npos;
    }));
  }
};

}  // namespace drom::outbox
