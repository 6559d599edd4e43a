// try, catch, finally inside a route. The error handler of the route is off inside: an error of the
// children goes to the first doCatch that names it (exception_match.hpp) and whose onWhen holds;
// without one, and for errors inside doCatch or doFinally, the step itself fails. doFinally always
// runs, also after `stop`.
#pragma once

namespace drom {

class Registry;

void register_do_try(Registry& registry);

}  // namespace drom
