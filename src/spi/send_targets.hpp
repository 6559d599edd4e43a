// The endpoints that sends inside transactions may go to, by name. A data source that keeps such
// sends in an outbox stores the name with the message; the step sendCaptured finds the producer
// again. Only what a route file says is in here: a row can choose among these, and nothing else.
// Load time, then shard thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "drom/spi/build_context.hpp"

namespace drom {

class SendTargets {
 public:
  static SendTargets& of(BuildContext& context);

  // Sends are kept in this outbox from here on, so that every name must mean one producer. False:
  // another data source has taken the name of the outbox.
  bool keep(const std::string& outbox) { return kept_.insert(outbox).second; }
  // The producer of the endpoint, under its name. Two with one name are reported when sends are
  // kept.
  void add(const std::string& name, Producer& producer, const Location& where,
           Diagnostics& diagnostics);
  Producer* find(std::string_view name) const;

 private:
  std::set<std::string> kept_;
  std::map<std::string, Producer*, std::less<>> producers_;
};

}  // namespace drom
