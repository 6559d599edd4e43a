// What `to` and `toD` share: sending a batch to a producer with Camel's options, and holding a send
// back until the transaction of the exchange has committed. Shard thread.
#pragma once

#include <optional>
#include <string>

#include "drom/config/config.hpp"
#include "drom/spi/endpoint.hpp"

namespace drom {

struct SendOptions {
  std::optional<ExchangePattern> pattern;  // for this send only
  std::string variable_send;               // send this variable instead of the body
  std::string variable_receive;            // put the reply there and leave the message as it is
  std::string target;  // by which SendTargets knows the endpoint; empty: it does not
  bool plain() const { return !pattern && variable_send.empty() && variable_receive.empty(); }
};

// Whether a send inside a transaction waits for the commit.
bool may_wait(const Producer& producer, const SendOptions& options);

// Nothing to do but to hand the batch on.
bool needs_nothing(const Batch& batch, const Producer& producer, const SendOptions& options);

// Sends one exchange. Inside a transaction, a producer with an effect outside of the database gets
// its copy after the commit (unless a reply is asked for by pattern InOut, or given anyway and not
// declined by InOnly); a failure then is the result of the commit.
async<> send(Exchange& exchange, Producer& producer, const SendOptions& options, Scope& scope);

// The options of both steps, and their reading.
void add_send_options(ConfigSpec& spec);
SendOptions read_send_options(const Config& config);

}  // namespace drom
