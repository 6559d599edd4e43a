// What a campaign tells: a table per store, then one line. Also as a Markdown file.
#pragma once

#include <string>
#include <vector>

#include "chaos/campaign.hpp"

namespace drom::chaos {

// True when everything is clean.
bool print_report(uint64_t seed, const std::vector<CampaignReport>& reports,
                  const std::vector<std::string>& not_run, const std::string& file);

}  // namespace drom::chaos
