// A database server of a campaign's own, which it may crash.
#pragma once

#include <string>

namespace drom::chaos {

class DatabaseServer {
 public:
  virtual ~DatabaseServer() = default;
  // Ends it as a crash does, then starts it again and waits. False: see trouble().
  virtual bool crash_and_restart() = 0;
  // Whether it is not there any more, by its own doing.
  virtual bool ended() = 0;
  virtual const std::string& trouble() const = 0;
};

}  // namespace drom::chaos
