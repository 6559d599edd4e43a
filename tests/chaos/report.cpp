#include "chaos/report.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <ranges>

namespace drom::chaos {
namespace {

constexpr size_t kProblemsShown = 20;

void line(std::string& out, const char* format, ...) __attribute__((format(printf, 2, 3)));
void line(std::string& out, const char* format, ...) {
  char text[1000];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  out += text;
  out += '\n';
}

std::string list(const std::map<std::string, size_t>& counts) {
  std::string out;
  for (const auto& [name, count] : counts)
    out += (out.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return out;
}

std::string table(const std::vector<CampaignReport>& reports) {
  std::string out;
  line(out,
       "| Store | Kills | Other faults | Events | Kept sends | Rolled back or refused | Unknown "
       "commits | "
       "Replayed | "
       "Lost | Phantom | Torn | Reordered | Double effects | Missing effects | Stuck | "
       "Duplicate deliveries | Recovery p50 / max | Commit to sink p99 / max | Drain max | "
       "Time |");
  line(out, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  for (const CampaignReport& r : reports) {
    size_t others = 0;
    for (const auto& [name, count] : r.other_faults) others += count;
    const Verdict& v = r.verdict;
    line(out,
         "| %s | %zu | %zu | %zu | %zu | %zu | %zu | %llu | %zu | %zu | %zu | %zu | %zu | %zu | "
         "%zu | "
         "%zu | %.2f / %.2f s | %.2f / %.2f s | %.2f s | %.0f s |",
         r.name.c_str(), r.kills, others, v.events, r.sends, v.rolled_back, v.unknown,
         static_cast<unsigned long long>(r.replays), v.lost + v.vanished, v.phantom, v.torn,
         v.reordered + v.skipped, v.duplicate_effects, v.missing_effects, v.stuck, v.duplicates,
         r.recovery_p50_s, r.recovery_max_s, r.latency_p99_s, r.latency_max_s, r.drain_max_s,
         r.seconds);
  }
  for (const CampaignReport& r : reports) {
    out += "\n" + r.name + ": killed at " + list(r.kills_at) + ".\n";
    out += r.name + ": other faults: " +
           (r.other_faults.empty() ? std::string("none") : list(r.other_faults)) + ".\n";
    for (const std::string& text : r.problems | std::views::take(kProblemsShown))
      out += r.name + ": PROBLEM: " + text + "\n";
    if (r.problems.size() > kProblemsShown)
      line(out, "%s: and %zu more problems", r.name.c_str(), r.problems.size() - kProblemsShown);
    for (const std::string& text : r.verdict.examples) out += r.name + ": " + text + "\n";
  }
  return out;
}

std::string last_line(uint64_t seed, const std::vector<CampaignReport>& reports, bool clean) {
  size_t kills = 0, others = 0, events = 0, sends = 0, problems = 0;
  Verdict sum;
  double recovery = 0;
  for (const CampaignReport& r : reports) {
    kills += r.kills;
    for (const auto& [name, count] : r.other_faults) others += count;
    problems += r.problems.size();
    events += r.verdict.events;
    sends += r.sends;
    for (size_t Verdict::* count :
         {&Verdict::lost, &Verdict::vanished, &Verdict::phantom, &Verdict::torn,
          &Verdict::reordered, &Verdict::skipped, &Verdict::duplicate_effects,
          &Verdict::missing_effects, &Verdict::corrupt, &Verdict::stuck, &Verdict::wrongly_dead,
          &Verdict::unexplained, &Verdict::duplicates})
      sum.*count += r.verdict.*count;
    recovery = std::max(recovery, r.recovery_max_s);
  }
  std::string out;
  line(out,
       "drom-chaos: seed %llu, %zu kills, %zu other faults, %zu events, %zu kept sends: %s, %zu "
       "duplicate "
       "deliveries, recovery max %.1f s%s%s",
       static_cast<unsigned long long>(seed), kills, others, events, sends, sum.summary().c_str(),
       sum.duplicates, recovery,
       problems ? (", " + std::to_string(problems) + " problems").c_str() : "",
       clean ? "" : ": NOT CLEAN");
  return out;
}

}  // namespace

bool print_report(uint64_t seed, const std::vector<CampaignReport>& reports,
                  const std::vector<std::string>& not_run, const std::string& file) {
  bool clean = !reports.empty();
  for (const CampaignReport& r : reports) clean = clean && r.clean();
  std::string text = table(reports);
  for (const std::string& what : not_run) text += "Not run: " + what + ".\n";
  const std::string last = last_line(seed, reports, clean);
  if (!file.empty()) std::ofstream(file) << text << "\n    " << last;
  std::fputs(text.c_str(), stdout);
  std::fputs(last.c_str(), stdout);
  return clean;
}

}  // namespace drom::chaos
