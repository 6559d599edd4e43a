#include "chaos/history.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "drom/base/json.hpp"
#include "drom/base/value.hpp"

namespace drom::chaos {
namespace {

constexpr size_t kExamplesMax = 40;

void example(Verdict& out, const std::string& text) {
  if (out.examples.size() < kExamplesMax) out.examples.push_back(text);
}

using TruthByEvent = std::map<std::string, const Truth*>;

bool given_up(const Truth& truth) { return truth.status == "dead" || truth.status == "parked"; }

void check_writers(const History& history, const TruthByEvent& truth, Verdict& out) {
  struct Parts {
    size_t all = 0;
    size_t there = 0;
  };
  std::map<std::string, Parts> transactions;
  for (const Intent& intent : history.intents) {
    const bool there = truth.contains(intent.event);
    Parts& parts = transactions[intent.tx];
    ++parts.all;
    if (there) ++parts.there;
    if (intent.outcome == Intent::Outcome::info) ++out.unknown;
    if (intent.outcome == Intent::Outcome::ok && !there) {
      ++out.vanished;
      example(out, "vanished: " + intent.event + " was acknowledged and is not in the database");
    }
    if (intent.outcome == Intent::Outcome::fail) {
      ++out.rolled_back;
      if (there) {
        ++out.phantom;
        example(out, "phantom: " + intent.event + " was rolled back and is in the database");
      }
    }
  }
  for (const auto& [tx, parts] : transactions) {
    if (parts.there == 0 || parts.there == parts.all) continue;
    ++out.torn;
    example(out, "torn: " + std::to_string(parts.there) + " of " + std::to_string(parts.all) +
                     " events of transaction " + tx + " are there");
  }
  for (const auto& [event, row] : truth) {
    if (row->business == !row->status.empty()) continue;
    ++out.torn;
    example(out,
            "torn: " + event + (row->business ? " has no outbox row" : " has no business row"));
  }
}

// What a key still owes: its numbers that have not been delivered.
using Owed = std::map<std::string, std::set<int64_t>>;

Owed owed_by_key(const TruthByEvent& truth) {
  Owed out;
  for (const auto& [event, row] : truth)
    if (!given_up(*row)) out[row->key].insert(row->seq);
  return out;
}

void check_deliveries(const History& history, const TruthByEvent& truth, Verdict& out) {
  Owed owed = owed_by_key(truth);
  std::map<std::string, size_t> counts;
  std::map<std::string, int64_t> highest;
  for (const Delivered& d : history.delivered) {
    const auto row = truth.find(d.event);
    if (row == truth.end()) {
      ++out.phantom;
      example(out, "phantom: " + d.event + " was delivered and never committed");
      continue;
    }
    const Truth& t = *row->second;
    if (d.hash != t.hash || d.key != t.key || d.seq != t.seq ||
        d.destination != history.destination) {
      ++out.corrupt;
      example(out, "corrupt: " + d.event + " came with another payload, key, number or place");
    }
    int64_t& top = highest[t.key];
    if (counts[d.event]++ > 0) {
      ++out.duplicates;
      if (t.seq < top) ++out.regressions;
      continue;
    }
    if (t.seq < top && !given_up(t)) {
      ++out.reordered;
      example(out, "reordered: " + d.event + " is number " + std::to_string(t.seq) + " of " +
                       t.key + " and came after number " + std::to_string(top));
    }
    top = std::max(top, t.seq);
    std::set<int64_t>& open = owed[t.key];
    open.erase(t.seq);
    if (!open.empty() && *open.begin() < t.seq) {
      ++out.skipped;
      example(out, "skipped: number " + std::to_string(*open.begin()) + " of " + t.key +
                       " was still due when " + d.event + " came");
    }
  }
  for (const auto& [event, row] : truth) {
    if (given_up(*row)) {
      ++out.dead;
      if (!row->poison) {
        ++out.wrongly_dead;
        example(out, "given up: " + event + " is " + row->status + " without a reason");
      }
      continue;
    }
    if (row->status == "due") {
      ++out.stuck;
      example(out, "stuck: " + event + ", number " + std::to_string(row->seq) + " of " + row->key);
    } else if (!counts.contains(event)) {
      ++out.lost;
      example(out, "lost: " + event + ", number " + std::to_string(row->seq) + " of " + row->key +
                       ", status '" + row->status + "'");
    }
  }
  const size_t explained = history.faults.size() * history.in_flight_max;
  if (out.duplicates > explained) out.unexplained = out.duplicates - explained;
}

void check_effects(const History& history, const TruthByEvent& truth, Verdict& out) {
  if (!history.inbox) return;
  std::map<std::string, size_t> counts;
  for (const Effect& effect : history.effects) ++counts[effect.event];
  for (const auto& [event, count] : counts) {
    if (count > 1) {
      ++out.duplicate_effects;
      example(out, "double effect: " + event + " was applied " + std::to_string(count) + " times");
    }
    if (!truth.contains(event)) {
      ++out.phantom;
      example(out, "phantom: " + event + " was applied and never committed");
    }
  }
  for (const auto& [event, row] : truth) {
    if (row->status != "sent" || counts.contains(event)) continue;
    ++out.missing_effects;
    example(out, "missing effect: " + event + " was never applied");
  }
}

// --- files
// -----------------------------------------------------------------------------------------

const char* name_of(Intent::Outcome outcome) {
  switch (outcome) {
    case Intent::Outcome::ok: return "ok";
    case Intent::Outcome::fail: return "fail";
    case Intent::Outcome::info: return "info";
  }
  return "info";
}

Object to_object(const Intent& i) {
  Object out;
  out.append("tx", i.tx);
  out.append("event", i.event);
  out.append("key", i.key);
  out.append("hash", i.hash);
  out.append("outcome", name_of(i.outcome));
  out.append("at", i.at_ns);
  return out;
}

Object to_object(const Truth& t) {
  Object out;
  out.append("tx", t.tx);
  out.append("event", t.event);
  out.append("key", t.key);
  out.append("seq", t.seq);
  out.append("hash", t.hash);
  out.append("business", t.business);
  out.append("status", t.status);
  out.append("poison", t.poison);
  return out;
}

Object to_object(const Delivered& d) {
  Object out;
  out.append("event", d.event);
  out.append("key", d.key);
  out.append("seq", d.seq);
  out.append("hash", d.hash);
  out.append("destination", d.destination);
  out.append("at", d.at_ns);
  return out;
}

Object to_object(const Effect& e) {
  Object out;
  out.append("event", e.event);
  return out;
}

Object to_object(const Fault& f) {
  Object out;
  out.append("what", f.what);
  out.append("at", f.at_ns);
  return out;
}

std::string text(const Object& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? value->to_text() : std::string();
}
int64_t integer(const Object& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? value->to_int().value_or(0) : 0;
}
bool flag(const Object& object, std::string_view name) { return text(object, name) == "true"; }

void from_object(const Object& o, Intent& out) {
  out.tx = text(o, "tx");
  out.event = text(o, "event");
  out.key = text(o, "key");
  out.hash = text(o, "hash");
  const std::string outcome = text(o, "outcome");
  if (outcome == "ok") out.outcome = Intent::Outcome::ok;
  if (outcome == "fail") out.outcome = Intent::Outcome::fail;
  out.at_ns = integer(o, "at");
}

void from_object(const Object& o, Truth& out) {
  out.tx = text(o, "tx");
  out.event = text(o, "event");
  out.key = text(o, "key");
  out.seq = integer(o, "seq");
  out.hash = text(o, "hash");
  out.business = flag(o, "business");
  out.status = text(o, "status");
  out.poison = flag(o, "poison");
}

void from_object(const Object& o, Delivered& out) {
  out.event = text(o, "event");
  out.key = text(o, "key");
  out.seq = integer(o, "seq");
  out.hash = text(o, "hash");
  out.destination = text(o, "destination");
  out.at_ns = integer(o, "at");
}

void from_object(const Object& o, Effect& out) { out.event = text(o, "event"); }

void from_object(const Object& o, Fault& out) {
  out.what = text(o, "what");
  out.at_ns = integer(o, "at");
}

template <class T>
bool write_file(const std::vector<T>& entries, const std::string& name) {
  std::ofstream file(name, std::ios::binary);
  for (const T& entry : entries) file << to_json(Value(to_object(entry))) << '\n';
  file.flush();
  return file.good();
}

template <class T>
Result<void> read_file(const std::string& name, std::vector<T>& out) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return Error(ErrorKind::config, "cannot read " + name);
  std::string line;
  for (size_t number = 1; std::getline(file, line); ++number) {
    const Result<Value> value = parse_json(line);
    const Object* object = value ? value->as_object() : nullptr;
    if (!object)
      return Error(ErrorKind::data, name + ":" + std::to_string(number) + ": is no JSON object");
    T entry;
    from_object(*object, entry);
    out.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

void Verdict::add(const Verdict& other, const std::string& what) {
  for (size_t Verdict::* count :
       {&Verdict::lost, &Verdict::vanished, &Verdict::phantom, &Verdict::torn, &Verdict::reordered,
        &Verdict::skipped, &Verdict::duplicate_effects, &Verdict::missing_effects,
        &Verdict::corrupt, &Verdict::stuck, &Verdict::wrongly_dead, &Verdict::unexplained,
        &Verdict::dead, &Verdict::duplicates, &Verdict::regressions})
    this->*count += other.*count;
  for (const std::string& text : other.examples) example(*this, what + text);
}

bool Verdict::clean() const {
  return lost + vanished + phantom + torn + reordered + skipped + duplicate_effects +
             missing_effects + corrupt + stuck + wrongly_dead + unexplained ==
         0;
}

std::string Verdict::summary() const {
  std::string out;
  const auto add = [&out](size_t count, const char* what, bool always) {
    if (count == 0 && !always) return;
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(lost + vanished, "lost", true);
  add(phantom, "phantom", true);
  add(reordered + skipped, "reordered", true);
  add(duplicate_effects, "double effects", true);
  add(missing_effects, "missing effects", false);
  add(torn, "torn", false);
  add(corrupt, "corrupt", false);
  add(stuck, "stuck", false);
  add(wrongly_dead, "wrongly given up", false);
  add(unexplained, "unexplained duplicates", false);
  return out;
}

Verdict check(const History& history) {
  Verdict out;
  TruthByEvent truth;
  for (const Truth& row : history.truth) truth[row.event] = &row;
  out.events = truth.size();
  check_writers(history, truth, out);
  check_deliveries(history, truth, out);
  check_effects(history, truth, out);
  return out;
}

Result<void> write_history(const History& history, const std::string& folder) {
  const bool fine = write_file(history.intents, folder + "/intent.jsonl") &&
                    write_file(history.truth, folder + "/truth.jsonl") &&
                    write_file(history.delivered, folder + "/delivered.jsonl") &&
                    write_file(history.effects, folder + "/effects.jsonl") &&
                    write_file(history.faults, folder + "/faults.jsonl");
  if (!fine) return Error(ErrorKind::transient, "cannot write the history to " + folder);
  return {};
}

Result<History> read_history(const std::string& folder) {
  History out;
  Result<void> done = read_file(folder + "/intent.jsonl", out.intents);
  if (done) done = read_file(folder + "/truth.jsonl", out.truth);
  if (done) done = read_file(folder + "/delivered.jsonl", out.delivered);
  if (done) done = read_file(folder + "/effects.jsonl", out.effects);
  if (done) done = read_file(folder + "/faults.jsonl", out.faults);
  if (!done) return std::move(done.error());
  return out;
}

void read_payload(const Object& payload, Delivered& out) {
  const auto text = [&](std::string_view name) {
    const Value* const value = payload.find(name);
    return value ? value->to_text() : std::string();
  };
  out.event = text("event");
  out.key = text("key");
  out.hash = payload_hash(text("pad"));
}

std::string payload_hash(std::string_view payload) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : payload) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  char out[17];
  std::snprintf(out, sizeof out, "%016llx", static_cast<unsigned long long>(hash));
  return out;
}

}  // namespace drom::chaos
