// A session in replication mode over libpq: START_REPLICATION, then messages in both directions
// (COPY BOTH). It speaks the simple query protocol only.
#include <boost/asio/io_context.hpp>

#include "sql/postgres/pg_core.hpp"
#include "sql/postgres/pg_error.hpp"
#include "sql/postgres/pgoutput.hpp"

namespace drom::sql {
namespace {

constexpr milliseconds kStatusEvery{10'000};  // the server gives up after wal_sender_timeout, 60 s
constexpr milliseconds kConfirmEvery{1'000};
constexpr size_t kBytesMax = 8 << 20;  // of one read
// The server sends each row in a packet of its own. When rows come one by one and fast, a short
// pause lets some of them gather: much less work for both sides.
constexpr milliseconds kGather{1};
constexpr size_t kFew = 64;

std::string literal(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  return out + "'";
}

std::string identifier(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

struct FreeCopy {
  void operator()(char* text) const { PQfreemem(text); }
};

class PgReplication final : public ReplicationStream {
 public:
  explicit PgReplication(std::shared_ptr<PgCore> core)
      : core_(std::move(core)), options_(core_->options), watcher_(core_->io) {
    options_.keywords.emplace_back("replication", "database");
  }
  ~PgReplication() override { watcher_.forget(); }

  async<Result<void>> dial() {
    Result<PgHandle> dialled =
        co_await pg_dial(options_, watcher_, core_->dial_lane, *core_->real_clock);
    if (!dialled) co_return std::move(dialled.error());
    handle_ = std::move(*dialled);
    PQsetNoticeReceiver(handle_.get(), [](void*, const PGresult*) {}, nullptr);
    // The text formats that pg_values reads.
    Result<void> done = co_await command(
        "SET TimeZone = 'UTC'; SET DateStyle = 'ISO'; SET bytea_output = 'hex'", PGRES_COMMAND_OK);
    co_return done;
  }

  async<Result<void>> start(std::string slot, std::string publication) override {
    Result<void> done = co_await command(
        "START_REPLICATION SLOT " + identifier(slot) +
            " LOGICAL 0/0 (proto_version '1', messages 'true', publication_names " +
            literal(identifier(publication)) + ")",
        PGRES_COPY_BOTH);
    status_at_ = core_->real_clock->steady();
    co_return done;
  }

  async<Result<std::vector<WalEvent>>> read(size_t max, milliseconds timeout) override {
    std::vector<WalEvent> out;
    const SteadyTime begun = core_->real_clock->steady();
    if (last_ > 0 && last_ < kFew && begun - last_at_ < kGather)
      co_await core_->real_clock->sleep(kGather);
    bool waited = false;
    bool looked = false;  // whether the socket has more; libpq takes 16 KB at a time
    size_t bytes = 0;
    while (out.size() < max && bytes < kBytesMax) {
      char* raw = nullptr;
      const int size = PQgetCopyData(handle_.get(), &raw, 1);
      const std::unique_ptr<char, FreeCopy> message(raw);
      if (size > 0) {
        bytes += static_cast<size_t>(size);
        looked = false;
        Result<std::optional<WalEvent>> event =
            output_.decode({message.get(), static_cast<size_t>(size)}, reply_wanted_);
        if (!event) co_return std::move(event.error());
        if (!*event) continue;
        received_ = std::max(received_, (*event)->lsn);
        out.push_back(std::move(**event));
        continue;
      }
      if (size < 0) co_return ended();
      if (!std::exchange(looked, true)) {
        if (PQconsumeInput(handle_.get()) == 0) co_return lost();
        continue;
      }
      Result<void> told = tell();
      if (!told) co_return std::move(told.error());
      if (!out.empty() || waited) break;
      waited = true;
      Result<void> filled = co_await fill(timeout);
      if (!filled) co_return std::move(filled.error());
    }
    Result<void> told = tell();
    if (!told) co_return std::move(told.error());
    last_ = out.size();
    last_at_ = core_->real_clock->steady();
    co_return out;
  }

  void interrupt() override { watcher_.interrupt(); }
  void confirm(Lsn lsn) override { confirmed_ = std::max(confirmed_, lsn); }
  Result<void> keep_alive() override { return tell(); }

 private:
  Error lost() {
    return pg_not_connected("lost the replication stream of PostgreSQL",
                            PQerrorMessage(handle_.get()), options_.password);
  }
  Error failure(const PGresult* answer) {
    const char* state = PQresultErrorField(answer, PG_DIAG_SQLSTATE);
    if (!state) return lost();
    const char* text = PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
    const char* hint = PQresultErrorField(answer, PG_DIAG_MESSAGE_HINT);
    return pg_error(state, text ? text : "", hint ? hint : "");
  }
  // The server has finished the stream, or libpq has noticed that it is gone.
  Error ended() {
    const PgAnswer answer(PQgetResult(handle_.get()));
    return answer && PQresultStatus(answer.get()) == PGRES_FATAL_ERROR ? failure(answer.get())
                                                                       : lost();
  }

  async<Result<void>> fill(milliseconds timeout) {
    const int unsent = PQflush(handle_.get());
    if (unsent < 0) co_return lost();
    const auto interest = unsent ? FdWatcher::Interest::read_or_write : FdWatcher::Interest::read;
    const FdWatcher::Event event = co_await watcher_.wait(interest, timeout);
    if (event == FdWatcher::Event::broken) co_return lost();
    if (event == FdWatcher::Event::ready && PQconsumeInput(handle_.get()) == 0) co_return lost();
    co_return Result<void>();
  }

  // One text of simple statements; `wanted` is how the last one answers.
  async<Result<void>> command(std::string text, ExecStatusType wanted) {
    if (!PQsendQuery(handle_.get(), text.c_str())) co_return lost();
    const SteadyTime deadline = core_->real_clock->steady() + options_.statement_timeout;
    while (true) {
      if (PQisBusy(handle_.get())) {
        if (core_->real_clock->steady() >= deadline)
          co_return Error(ErrorKind::timeout, "the replication session does not answer");
        Result<void> filled = co_await fill(milliseconds(1000));
        if (!filled) co_return filled;
        continue;
      }
      const PgAnswer answer(PQgetResult(handle_.get()));
      if (!answer) co_return Result<void>();
      const ExecStatusType status = PQresultStatus(answer.get());
      if (status != wanted) co_return failure(answer.get());
      if (status == PGRES_COPY_BOTH) co_return Result<void>();
    }
  }

  // How far we are, when it is time to say so.
  Result<void> tell() {
    const SteadyTime now = core_->real_clock->steady();
    const bool news = confirmed_ > told_ && now - status_at_ >= kConfirmEvery;
    if (!reply_wanted_ && !news && now - status_at_ < kStatusEvery) return {};
    const std::string status = status_update(received_, confirmed_, core_->real_clock->wall());
    const int sent = PQputCopyData(handle_.get(), status.data(), static_cast<int>(status.size()));
    if (sent < 0 || PQflush(handle_.get()) < 0) return lost();
    if (sent == 0) return {};  // no room: at the next occasion
    reply_wanted_ = false;
    told_ = confirmed_;
    status_at_ = now;
    return {};
  }

  std::shared_ptr<PgCore> core_;
  PostgresOptions options_;
  FdWatcher watcher_;  // forgets the socket before handle_ closes it
  PgHandle handle_;
  PgOutput output_;
  Lsn received_ = 0;
  Lsn confirmed_ = 0;
  Lsn told_ = 0;
  bool reply_wanted_ = false;
  SteadyTime status_at_{};
  size_t last_ = 0;  // events of the last read, and when it ended
  SteadyTime last_at_{};
};

}  // namespace

async<Result<std::unique_ptr<ReplicationStream>>> pg_replicate(std::shared_ptr<PgCore> core) {
  auto stream = std::make_unique<PgReplication>(std::move(core));
  Result<void> dialled = co_await stream->dial();
  if (!dialled) co_return std::move(dialled.error());
  co_return std::unique_ptr<ReplicationStream>(std::move(stream));
}

}  // namespace drom::sql
