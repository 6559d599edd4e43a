// Recipient chosen per message: the URI of `toD` is a template. A message may fill in names, but
// never choose the kind of endpoint nor add options: the scheme must be written in the template or
// be listed in `allowedSchemes`, and separators in filled-in values are escaped.
#pragma once

namespace drom {

class Registry;

void register_to_dynamic(Registry& registry);

}  // namespace drom
