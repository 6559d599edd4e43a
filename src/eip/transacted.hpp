// Transactional Client: one unit of work around the children, per exchange. The database
// transaction opens on first use; at the end it commits, then the held-back sends go out, then the
// source is acknowledged by the engine. An error rolls back and leaves the block as a failure, so
// that the error policy outside redelivers the whole block: one attempt is one unit of work. Shard
// thread.
//   - A failure inside that was caught leaves a transaction that cannot commit; the block then
//   fails
//     rather than pretending.
//   - A held-back send that fails after the commit fails the exchange too; the commit stands.
#pragma once

namespace drom {

class Registry;

void register_transacted(Registry& registry);

}  // namespace drom
