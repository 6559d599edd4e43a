// What a campaign makes of its logs before the judge sees them, and the times that it reports.
#pragma once

#include "chaos/campaign.hpp"

namespace drom::chaos {

// The sends that transactions of engines have kept: a history of their own, of the same events.
// Takes their deliveries out of `all`; `twice` gets the events whose send was kept again.
History take_sends(History& all, std::vector<Truth> kept, std::vector<std::string>& twice);

// Recovery after the kills, latency from the writer's answer to the sink.
void measure(const History& history, const std::vector<int64_t>& kills_ns, CampaignReport& report);

}  // namespace drom::chaos
