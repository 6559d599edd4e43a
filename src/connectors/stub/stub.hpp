// stub: stands in for an endpoint that is not there, for `--stub SCHEMES` and tests: takes any
// parameters. What is sent goes to the route that starts with the same stub, if there is one, else
// nowhere.
#pragma once

namespace drom {

class Registry;

void register_stub(Registry& registry);

}  // namespace drom
