#include "chaos/judgement.hpp"

#include <algorithm>
#include <map>

#include "chaos/sink.hpp"
#include "chaos/store.hpp"

namespace drom::chaos {
namespace {

double seconds_at(const std::vector<int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(sorted.size() - 1));
  return static_cast<double>(sorted[at]) / 1e9;
}

}  // namespace

void measure(const History& history, const std::vector<int64_t>& kills_ns, CampaignReport& report) {
  std::map<std::string, int64_t> first;
  std::vector<int64_t> news;
  for (const Delivered& d : history.delivered)
    if (d.at_ns != 0 && first.emplace(d.event, d.at_ns).second) news.push_back(d.at_ns);
  std::vector<int64_t> recovery;
  for (const int64_t at : kills_ns) {
    const auto next = std::upper_bound(news.begin(), news.end(), at);
    if (next != news.end()) recovery.push_back(*next - at);
  }
  std::sort(recovery.begin(), recovery.end());
  report.recovery_p50_s = seconds_at(recovery, 0.5);
  report.recovery_max_s = seconds_at(recovery, 1);
  std::vector<int64_t> latency;
  for (const Intent& intent : history.intents) {
    const auto at = first.find(intent.event);
    if (intent.outcome == Intent::Outcome::ok && at != first.end())
      latency.push_back(std::max<int64_t>(0, at->second - intent.at_ns));
  }
  std::sort(latency.begin(), latency.end());
  report.latency_p99_s = seconds_at(latency, 0.99);
  report.latency_max_s = seconds_at(latency, 1);
}

History take_sends(History& all, std::vector<Truth> kept, std::vector<std::string>& twice) {
  History out;
  out.destination = kHook;
  out.inbox = false;
  out.in_flight_max = all.in_flight_max;
  out.faults = all.faults;
  for (const Intent& intent : all.intents)
    if (intent.tx.find(kDirect) == std::string::npos) out.intents.push_back(intent);
  std::map<std::string, int64_t> numbers;
  for (const Truth& truth : kept)
    if (!numbers.emplace(truth.event, truth.seq).second) twice.push_back(truth.event);
  out.truth = std::move(kept);
  // A webhook does not send the number; its body names the event.
  std::vector<Delivered> others;
  for (Delivered& delivered : all.delivered) {
    if (delivered.destination != kHook) {
      others.push_back(std::move(delivered));
      continue;
    }
    delivered.seq = numbers[delivered.event];
    out.delivered.push_back(std::move(delivered));
  }
  all.delivered = std::move(others);
  return out;
}

}  // namespace drom::chaos
