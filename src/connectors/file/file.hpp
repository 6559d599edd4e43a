// file: reads files from a directory and writes files into it. A handled file moves to .camel (or
// where `move` says) only when its route has ended well; a written file appears under its name only
// when it is complete and on the disk. Unlike Camel, the producer does not look at the header
// CamelFileName unless the route says fileName=${header.CamelFileName}: what comes over the wire
// must not choose files.
#pragma once

namespace drom {

class Registry;

void register_file(Registry& registry);

}  // namespace drom
