#include "sql/postgres/pg_core.hpp"

namespace drom::sql {

Error pg_closed(const PostgresOptions& options) {
  return Error(ErrorKind::not_connected, "data source '" + options.name + "' is not open");
}

PgLease& PgLease::operator=(PgLease&& other) noexcept {
  if (this != &other) {
    give_back();
    core_ = std::move(other.core_);
    place_ = std::move(other.place_);
    connection_ = std::move(other.connection_);
  }
  return *this;
}

void PgLease::give_back() {
  if (connection_ && core_->opened && connection_->reusable()) core_->idle.push_back(std::move(connection_));
  connection_.reset();
  place_.release();  // after the connection is there to be taken
  core_.reset();
}

async<Result<PgLease>> acquire(std::shared_ptr<PgCore> core) {
  if (!core->opened) co_return pg_closed(core->options);
  std::optional<Turnstile::Permit> place =
      co_await core->places.enter(*core->real_clock, core->options.acquire_timeout);
  if (!place) {
    co_return Error(ErrorKind::timeout,
                    "no free connection of data source '" + core->options.name + "' within " +
                        drom::to_string(core->options.acquire_timeout) + "; all " +
                        std::to_string(core->options.pool_size) + " are in use",
                    "raise poolSize or acquireTimeout, or shorten the transactions; a transaction inside a "
                    "transaction takes a second connection");
  }
  if (!core->opened) co_return pg_closed(core->options);
  // Sessions that ended while they rested (a restart of the server) are found before anything is sent.
  while (!core->idle.empty()) {
    std::unique_ptr<PgConnection> resting = std::move(core->idle.back());
    core->idle.pop_back();
    if (resting->still_there()) co_return PgLease(core, std::move(*place), std::move(resting));
  }
  Result<std::unique_ptr<PgConnection>> fresh =
      co_await PgConnection::connect(core->options, core->io, core->dial_lane, *core->real_clock, core->log);
  if (!fresh) co_return fresh.error();
  co_return PgLease(core, std::move(*place), std::move(*fresh));
}

}  // namespace drom::sql
