// LISTEN and NOTIFY: hints between processes. Channel `x` is drom_x in the server; the payload names
// the instance that has sent it, so that nobody is woken twice by himself. Everything here may fail
// quietly: pollers look by themselves now and then.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "sql/postgres/pg_core.hpp"

namespace drom::sql {
namespace {

using std::chrono::seconds;

constexpr std::string_view kPrefix = "drom_";
constexpr milliseconds kNotifyPause{10};
constexpr milliseconds kReconnectFirst{1000};
constexpr milliseconds kReconnectMax{30000};

std::string quoted(const std::string& channel) {
  std::string out = "\"" + std::string(kPrefix);
  for (const char c : channel) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

// LISTEN for what is new in core.channels.
async<Result<void>> listen_new(PgCore& core, PgConnection& connection, std::set<std::string>& known) {
  std::vector<Command> commands;
  for (const std::string& channel : core.channels)
    if (known.insert(channel).second) commands.push_back(Command{"LISTEN " + quoted(channel), {}});
  if (commands.empty()) co_return Result<void>();
  const PgTrip trip(std::move(commands), false, false);
  const Result<std::vector<Rows>> done = co_await connection.run(trip);
  if (!done) co_return done.error();
  // Whatever was told before we listened is lost: let everybody look once.
  core.hints.signal_all();
  co_return Result<void>();
}

async<Result<void>> serve(PgCore& core, PgConnection& connection) {
  std::set<std::string> known;
  while (core.opened) {
    const Result<void> listened = co_await listen_new(core, connection, known);
    if (!listened) co_return listened;
    const Result<std::vector<PgNotification>> news = co_await connection.notifications(seconds(30));
    if (!news) co_return news.error();
    for (const PgNotification& note : *news) {
      if (note.payload == core.options.instance || !note.channel.starts_with(kPrefix)) continue;
      core.hints.signal(std::string_view(note.channel).substr(kPrefix.size()));
    }
  }
  co_return Result<void>();
}

async<> listen(std::shared_ptr<PgCore> core) {
  milliseconds pause = kReconnectFirst;
  while (core->opened) {
    Result<std::unique_ptr<PgConnection>> connected =
        co_await PgConnection::connect(core->options, core->io, core->dial_lane, *core->real_clock, core->log);
    Result<void> served;
    if (connected) {
      pause = kReconnectFirst;
      core->listener = connected->get();
      served = co_await serve(*core, **connected);
      core->listener = nullptr;
    } else {
      served = connected.error();
    }
    if (!core->opened) break;
    if (!served) core->log.debug("sql", "listening: " + served.error().what);
    co_await core->listener_pause->wait(pause);
    pause = std::min(pause * 2, kReconnectMax);
  }
}

async<> notify(std::shared_ptr<PgCore> core) {
  while (core->opened && !core->to_notify.empty()) {
    Result<PgLease> lease = co_await acquire(core);
    std::vector<Command> commands;
    for (const std::string& channel : std::exchange(core->to_notify, {})) {
      Command command;
      command.sql = "SELECT pg_notify($1, $2)";
      command.params.emplace_back(std::string(kPrefix) + channel);
      command.params.emplace_back(core->options.instance);
      commands.push_back(std::move(command));
    }
    if (lease) {
      const PgTrip trip(std::move(commands), false, false);
      const Result<std::vector<Rows>> sent = co_await (*lease)->run(trip);
      if (!sent) core->log.debug("sql", "notify: " + sent.error().what);
      lease->give_back();
    } else {
      core->log.debug("sql", "notify: " + lease.error().what);
    }
    co_await core->real_clock->sleep(kNotifyPause);
  }
}

// `flag` says that the work runs; it is a member of core.
void start(const std::shared_ptr<PgCore>& core, bool PgCore::* flag, async<> work) {
  (*core).*flag = true;
  boost::asio::co_spawn(core->io, std::move(work), [core, flag](std::exception_ptr failure) {
    (*core).*flag = false;
    core->background_ended.ring_all();
    if (failure) core->log.error("sql", "internal error in the background of '" + core->options.name + "'");
  });
}

}  // namespace

void wake_listener(PgCore& core) {
  if (core.listener) {
    core.listener->interrupt();
  } else {
    core.listener_pause->ring();
  }
}

void listen_to(const std::shared_ptr<PgCore>& core, const std::string& channel) {
  if (!core->opened || !core->channels.insert(channel).second) return;
  if (core->listening) {
    wake_listener(*core);
  } else {
    start(core, &PgCore::listening, listen(core));
  }
}

void notify_soon(const std::shared_ptr<PgCore>& core, std::string_view channel) {
  if (!core->opened) return;
  core->to_notify.emplace(channel);
  if (!core->notifying) start(core, &PgCore::notifying, notify(core));
}

async<> stop_background(std::shared_ptr<PgCore> core) {
  core->channels.clear();
  core->to_notify.clear();
  wake_listener(*core);
  const milliseconds patience = core->options.connect_timeout + seconds(5);
  while (core->listening || core->notifying) {
    const bool rung = co_await core->background_ended.wait(*core->real_clock, patience);
    if (!rung) break;
  }
}

}  // namespace drom::sql
