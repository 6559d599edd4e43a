#include "chaos/campaign.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "chaos/broker_faults.hpp"
#include "chaos/dice.hpp"
#include "chaos/http_io.hpp"
#include "chaos/judgement.hpp"
#include "chaos/routes.hpp"
#include "rt/failpoint_plan.hpp"

namespace drom::chaos {
namespace {

namespace fs = std::filesystem;

constexpr milliseconds kLease{500};
constexpr milliseconds kDrainLimit{15'000};  // lease + longest backoff + what a busy machine needs
constexpr milliseconds kDrainLimitBroker{40'000};  // and its clients may have to find it again
constexpr milliseconds kOwnDeath{300};             // what a planned death gets before we kill
constexpr size_t kRelays = 3;                      // on a server
constexpr size_t kInFlight = 16;                   // maxInFlight of the relay

int64_t ns(milliseconds time) { return std::chrono::nanoseconds(time).count(); }

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options);
  CampaignReport run();

 private:
  bool on_server() const { return options_.place.on_server(); }
  uint64_t dice(uint64_t sides) { return roll(dice_, sides); }
  void prepare();
  void write_routes() const;
  WriterOptions writer_options();

  void start(Slot& slot, bool planned);
  std::pair<std::string, std::string> make_plan();
  void round(size_t kills);
  void look_after();
  void reap(Slot& slot);
  void strike(Slot& slot);
  void kill(Slot& slot);
  void drain_engine(Slot& slot);
  static bool serves(const Slot& slot) {
    return Socket::connect(slot.port, milliseconds(100)).valid();
  }
  void disturb();
  void disturb_network();
  void fill_disk();
  void empty_disk();
  void crash_database();
  milliseconds drain_limit() const { return options_.broker ? kDrainLimitBroker : kDrainLimit; }
  void heal();
  void settle();
  void stop_engines();
  void judge();

  void fault(const std::string& what) { faults_.push_back({what, now_ns()}); }
  void count(const std::string& what) {
    fault(what);
    ++report_.other_faults[what];
  }
  void problem(const std::string& text) {
    report_.problems.push_back(text);
    if (options_.verbose) std::fprintf(stderr, "PROBLEM: %s\n", text.c_str());
  }

  CampaignOptions options_;
  uint64_t dice_;
  CampaignReport report_;
  std::vector<Fault> faults_;
  std::vector<int64_t> kills_ns_;
  std::vector<std::string> points_;  // failpoints that this database can reach
  size_t next_point_ = 0;
  Sink sink_;
  std::unique_ptr<FaultProxy> proxy_;
  std::unique_ptr<BrokerFaults> broker_;
  std::unique_ptr<Engines> engines_;
  std::unique_ptr<Writers> writers_;
  bool healed_ = false;   // no more faults until the next round
  int64_t heal_ns_ = 0;   // of the network; 0: nothing to heal
  int64_t empty_ns_ = 0;  // when the disk gets room again; 0: it has
};

Campaign::Campaign(const CampaignOptions& options)
    : options_(options), dice_(options.seed), sink_(options.seed + 5) {
  report_.name = options.name;
  for (const std::string_view name : failpoint_names()) {
    // SQLite commits in the process itself, and its relay is guarded by a lock, not by a lease.
    if (!on_server() && (name == "commit.sent" || name == "lease.lost")) continue;
    // A broker refuses no event for good.
    if (options.broker && (name == "dlq.before" || name == "dlq.after")) continue;
    points_.emplace_back(name);
  }
}

void Campaign::write_routes() const {
  std::ofstream file(options_.folder + "/routes.yaml");
  const auto [type, properties] = data_source(options_.place);
  file << route_file(type, properties, drom::to_string(kLease), options_.place.mode,
                     options_.broker);
}

WriterOptions Campaign::writer_options() {
  WriterOptions out;
  out.prefix = options_.name + "-";
  out.engines = engines_->ports();
  out.open_store = [this] { return open_store(options_.place); };
  out.seed = options_.seed;
  if (options_.broker) out.poison_percent = 0;
  return out;
}

void Campaign::prepare() {
  fs::create_directories(options_.folder);
  if (!on_server())
    options_.place.file = (options_.disk ? options_.disk->folder() : options_.folder) + "/chaos.db";
  open_store(options_.place)->create_schema();
  write_routes();
  EngineOptions engine;
  engine.program = options_.program;
  engine.folder = options_.folder;
  engine.routes = options_.folder + "/routes.yaml";
  engine.defines = {"sink=" + std::to_string(sink_.port())};
  if (on_server()) {
    proxy_ = std::make_unique<FaultProxy>(options_.place.server_port());
    engine.defines.push_back("dbport=" + std::to_string(proxy_->port()));
  }
  if (options_.broker) {
    if (!options_.broker->comes())
      throw std::runtime_error(options_.broker->name() + " has not answered for two minutes");
    options_.broker->create();
    broker_ = std::make_unique<BrokerFaults>(*options_.broker, [this](auto what) { count(what); });
    engine.defines.push_back("broker=" + std::to_string(broker_->port()));
  }
  engines_ = std::make_unique<Engines>(engine, on_server() ? kRelays : 1);
  writers_ = std::make_unique<Writers>(writer_options(), sink_);
}

// A failpoint to die at, each in its turn, and sometimes some other trouble on the way.
std::pair<std::string, std::string> Campaign::make_plan() {
  static constexpr int kHits[] = {1, 1, 2, 3, 5, 9};
  const std::string point = points_[next_point_++ % points_.size()];
  std::string plan = point + (dice(16) == 0 ? "=hang:#" : "=kill:#") +
                     std::to_string(kHits[dice(std::size(kHits))]);
  if (point == "shutdown.drain" || point == "lease.lost") plan = point + "=kill:#1";
  if (dice(4) == 0) {
    const std::string& other = points_[dice(points_.size())];
    if (other != point) plan += ";" + other + (dice(3) == 0 ? "=delay:20:1/10" : "=fail:1/15");
  }
  return {point, plan};
}

void Campaign::start(Slot& slot, bool planned) {
  std::pair<std::string, std::string> plan;
  if (planned && dice(100) < 65) plan = make_plan();
  engines_->start(slot, plan.first, plan.second, roll(dice_));
}

// --- kills ---

// What has ended by itself: at a failpoint that is a kill, otherwise a problem.
void Campaign::reap(Slot& slot) {
  const std::optional<int> status = slot.child.ended();
  if (!status) return;
  if (WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL && !slot.point.empty()) {
    ++report_.kills;
    ++report_.kills_at[slot.point];
    kills_ns_.push_back(now_ns());
    fault("kill at " + slot.point);
  } else if ((on_server() || empty_ns_ != 0) && WIFEXITED(*status) && WEXITSTATUS(*status) == 1 &&
             !healed_) {
    // An engine that cannot use its database does not start; whoever supervises it tries again.
    ++report_.other_faults["start without a database"];
  } else {
    problem("engine " + std::to_string(slot.number) + " ended by itself, " +
            (WIFEXITED(*status) ? "exit code " + std::to_string(WEXITSTATUS(*status))
                                : "signal " + std::to_string(WTERMSIG(*status))) +
            ", plan '" + slot.plan + "'");
  }
  start(slot, !healed_);
}

void Campaign::look_after() {
  const int64_t now = now_ns();
  if (heal_ns_ != 0 && now >= heal_ns_) {
    heal_ns_ = 0;
    proxy_->heal();
  }
  if (empty_ns_ != 0 && now >= empty_ns_) empty_disk();
  if (broker_) broker_->look_after();
  for (const auto& slot : engines_->slots()) {
    if (slot->resume_ns != 0 && now >= slot->resume_ns) {
      slot->resume_ns = 0;
      slot->child.signal(SIGCONT);
    }
    reap(*slot);
  }
}

void Campaign::kill(Slot& slot) {
  slot.child.end();
  ++report_.kills;
  ++report_.kills_at["any moment"];
  kills_ns_.push_back(now_ns());
  fault("kill");
  start(slot, true);
}

void Campaign::strike(Slot& slot) {
  if (slot.resume_ns != 0) return;
  if (slot.point == "lease.lost") {
    // It can only lose its lease while it does not run; it dies when it notices.
    if (slot.child.running() && now_ns() - slot.started_ns > ns(milliseconds(400))) {
      slot.child.signal(SIGSTOP);
      slot.resume_ns = now_ns() + ns(2 * kLease);
      slot.started_ns = now_ns() + ns(2 * kLease);
      count("pause beyond the lease");
    }
    if (now_ns() - slot.started_ns > ns(milliseconds(1500))) kill(slot);
    return;
  }
  if (slot.point == "shutdown.drain") {
    // Give it a moment to start; a SIGTERM before that ends it without a drain.
    if (now_ns() - slot.started_ns < ns(milliseconds(100))) return;
    slot.child.signal(SIGTERM);
    const int64_t until = now_ns() + ns(milliseconds(1000));
    const size_t starts = slot.starts;
    while (slot.starts == starts && now_ns() < until) {
      const std::optional<int> status = slot.child.wait(milliseconds(1000));
      if (status && WIFSIGNALED(*status)) {
        ++report_.kills;
        ++report_.kills_at[slot.point];
        kills_ns_.push_back(now_ns());
        fault("kill at shutdown.drain");
        start(slot, true);
      } else if (status) {
        start(slot, true);
      }
    }
    if (slot.starts == starts) kill(slot);
    return;
  }
  if (!slot.point.empty()) {
    const size_t starts = slot.starts;
    const int64_t until = slot.started_ns + ns(kOwnDeath);
    while (slot.starts == starts && now_ns() < until) {
      sleep_for(milliseconds(2));
      look_after();
    }
    if (slot.starts != starts) return;
  }
  kill(slot);
}

// SIGTERM: must finish what is in flight and end with 0.
void Campaign::drain_engine(Slot& slot) {
  if (slot.resume_ns != 0 || !slot.plan.empty() || heal_ns_ != 0 || empty_ns_ != 0) return;
  // One that does not serve yet may be waiting for a database that is away.
  if (!serves(slot)) return;
  count("SIGTERM");
  slot.child.signal(SIGTERM);
  const std::optional<int> status = slot.child.wait(milliseconds(10'000));
  if (!status) {
    problem("engine " + std::to_string(slot.number) + " did not end within 10 s of SIGTERM");
    slot.child.end();
  } else if (*status != 0) {
    problem("engine " + std::to_string(slot.number) + " ended with wait status " +
            std::to_string(*status) + " after SIGTERM");
  }
  start(slot, true);
}

// --- other faults ---

void Campaign::disturb_network() {
  const size_t choice = dice(std::size(kProxyFaults) + 4);
  if (choice < std::size(kProxyFaults)) {
    ProxyFault fault;
    fault.mode = kProxyFaults[choice];
    proxy_->set(fault);
    count(std::string("network: ") + to_string(fault.mode));
    heal_ns_ = now_ns() + ns(milliseconds(50 + dice(250)));
  } else if (choice < std::size(kProxyFaults) + 3) {
    proxy_->cut_reply_at("COMMIT");
    count("network: reply to COMMIT cut");
  } else {
    proxy_->cut_reply_after(dice(400));
    count("network: reply cut");
  }
}

void Campaign::fill_disk() {
  if (empty_ns_ != 0) return;
  if (!options_.disk->fill()) return problem("the disk could not be filled");
  count("disk full");
  empty_ns_ = now_ns() + ns(milliseconds(100 + dice(400)));
}

void Campaign::empty_disk() {
  options_.disk->make_room();
  empty_ns_ = 0;
  // A server may give up for want of room. Whoever supervises it starts it again.
  if (!options_.server || !options_.server->ended()) return;
  count("database ended on the full disk");
  if (!options_.server->crash_and_restart()) problem(options_.server->trouble());
}

void Campaign::disturb() {
  Slot& slot = *engines_->slots()[dice(engines_->slots().size())];
  if (broker_ && dice(100) < 30) return broker_->disturb(dice_);
  const uint64_t choice = dice(100);
  if (choice < 15) return drain_engine(slot);
  // On a server there is much else to do.
  const uint64_t full_from = on_server() ? 90 : 80;
  if (options_.disk && choice >= full_from) return fill_disk();
  if (!on_server()) return;
  if (choice < 25) {
    if (slot.resume_ns != 0 || !slot.child.running()) return;
    slot.child.signal(SIGSTOP);
    slot.resume_ns = now_ns() + ns(2 * kLease);
    count("pause beyond the lease");
  } else if (choice < 40) {
    if (end_sessions(options_.place, 1 + static_cast<int>(dice(4)))) count("backends terminated");
  } else if (choice < 55) {
    // The engine has installed its handler once it serves.
    if (slot.resume_ns != 0 || !serves(slot)) return;
    slot.child.signal(SIGUSR1);
    count("clock jump");
  } else if (heal_ns_ == 0) {
    disturb_network();
  }
}

void Campaign::crash_database() {
  if (empty_ns_ != 0) empty_disk();  // it could not start
  count("database crash and restart");
  if (!options_.server->crash_and_restart()) problem(options_.server->trouble());
}

// --- rounds ---

void Campaign::round(size_t kills) {
  const size_t first = report_.kills;
  const size_t crash_at = first + kills / 2;
  const size_t kill_broker_at = first + kills / 4;
  bool crashed = !options_.server;
  bool broker_killed = !options_.broker;
  healed_ = false;
  sink_.trouble(30);
  writers_->start();
  for (const auto& slot : engines_->slots())
    if (!slot->child.running()) start(*slot, true);
  const int64_t limit = now_ns() + ns(milliseconds(10'000 + 2000 * static_cast<int64_t>(kills)));
  while (report_.kills < first + kills) {
    sleep_for(milliseconds(5 + dice(on_server() ? 180 : 120)));
    look_after();
    if (!crashed && report_.kills >= crash_at) {
      crashed = true;
      crash_database();
    }
    if (!broker_killed && report_.kills >= kill_broker_at) {
      broker_killed = true;
      broker_->kill();
    }
    if (dice(100) < 30) disturb();
    strike(*engines_->slots()[dice(engines_->slots().size())]);
    if (now_ns() > limit) {
      problem("the campaign does not get on");
      break;
    }
  }
  settle();
}

// Everything is well from here on.
void Campaign::heal() {
  healed_ = true;
  sink_.trouble(0);
  if (proxy_) proxy_->heal();
  heal_ns_ = 0;
  if (broker_ && !broker_->heal()) problem("the broker does not come back");
  if (empty_ns_ != 0) empty_disk();
  for (const auto& slot : engines_->slots()) {
    if (slot->resume_ns != 0) {
      slot->resume_ns = 0;
      slot->child.signal(SIGCONT);
    }
    if (slot->child.running() && slot->plan.empty()) continue;
    slot->child.end();
    fault("kill");
    start(*slot, false);
  }
  writers_->stop();
}

// Liveness: what is due must go out within a bound.
void Campaign::settle() {
  heal();
  const int64_t healed = now_ns();
  const std::unique_ptr<Store> store = open_store(options_.place);
  Progress seen;
  while (now_ns() - healed < ns(2 * drain_limit())) {
    seen = store->progress();
    if (seen.known && seen.due == 0 && seen.effects >= seen.sent) break;
    for (const auto& slot : engines_->slots()) reap(*slot);
    sleep_for(milliseconds(10));
  }
  const double seconds = static_cast<double>(now_ns() - healed) / 1e9;
  report_.drain_max_s = std::max(report_.drain_max_s, seconds);
  if (now_ns() - healed > ns(drain_limit()))
    problem("after healing " + std::to_string(seen.due) + " events were still due after " +
            std::to_string(seconds) + " s");
  if (options_.verbose)
    std::fprintf(stderr, "%s: %zu kills, %lld sent, drained in %.2f s\n", options_.name.c_str(),
                 report_.kills, static_cast<long long>(seen.sent), seconds);
}

void Campaign::stop_engines() {
  for (const auto& slot : engines_->slots()) slot->child.signal(SIGTERM);
  for (const auto& slot : engines_->slots()) {
    const std::optional<int> status = slot->child.wait(milliseconds(10'000));
    if (!status || *status != 0)
      problem("engine " + std::to_string(slot->number) + " did not end well at the last SIGTERM: " +
              (status ? std::to_string(*status) : std::string("not within 10 s")));
    slot->child.end();
  }
}

// --- judgement ---

void Campaign::judge() {
  History history;
  history.destination = options_.broker ? options_.broker->name() : kDeliver;
  history.in_flight_max = kInFlight * engines_->slots().size();
  history.intents = writers_->intents();
  FinalState state = open_store(options_.place)->read();
  history.truth = std::move(state.events);
  history.effects = std::move(state.effects);
  history.delivered = sink_.delivered();
  if (options_.broker)
    for (Delivered& one : options_.broker->delivered()) history.delivered.push_back(std::move(one));
  history.faults = faults_;
  std::vector<std::string> twice;
  const History sends = take_sends(history, std::move(state.sends), twice);
  for (const std::string& event : twice) problem("the send of " + event + " was kept twice");
  const std::string folder_of_sends = options_.folder + "/sends";
  fs::create_directories(folder_of_sends);
  for (const Result<void>& written :
       {write_history(history, options_.folder), write_history(sends, folder_of_sends)})
    if (!written) problem(written.error().what);
  report_.verdict = check(history);
  const Verdict of_sends = check(sends);
  report_.sends = of_sends.events;
  report_.verdict.add(of_sends, "kept send: ");
  report_.replays = writers_->replays();
  report_.reached = engines_->reached();
  measure(history, kills_ns_, report_);
  if (report_.recovery_max_s > 15) problem("a recovery took more than 15 s");
  if (report_.verdict.events == 0) problem("no event was written at all");
  if (report_.sends == 0) problem("no send was kept at all");
  // A point that was aimed at and never reached proves nothing.
  const size_t aimed = std::min(next_point_, points_.size());
  for (size_t i = 0; i < aimed; ++i)
    if (!report_.reached.contains(points_[i]))
      problem("failpoint " + points_[i] + " was never reached");
}

CampaignReport Campaign::run() {
  const int64_t begun = now_ns();
  prepare();
  while (report_.kills < options_.kills && report_.problems.size() < 20)
    round(std::min(options_.round, options_.kills - report_.kills));
  stop_engines();
  judge();
  report_.seconds = static_cast<double>(now_ns() - begun) / 1e9;
  return report_;
}

}  // namespace

CampaignReport run_campaign(const CampaignOptions& options) { return Campaign(options).run(); }

}  // namespace drom::chaos
