// Idempotent Receiver: handles a message once, however often it is delivered. Use it at the start
// of whatever must not happen twice. With a SQL repository inside `transacted` it is the inbox: key
// and effect commit together, so that the effect happens exactly once. Without a transaction a
// crash between key and effect leaves a key without its effect; then prefer a transaction.
//
// A duplicate skips the block and goes on after it, as in Camel. The key is computed once, before
// the block: steps that change what it was made of do not change what is confirmed or given back.
// Keys belong to a consumer (route and step id, or `name`), so that two consumers of one event do
// not take each other's messages for duplicates.
//
// This is the pattern to imitate: spec (documentation, validation and schema in one), make, run.
// Shard thread.
#pragma once

namespace drom {

class Registry;

void register_idempotent_consumer(Registry& registry);

}  // namespace drom
