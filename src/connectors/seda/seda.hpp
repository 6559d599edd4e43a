// seda: a bounded in-memory queue between routes of one engine. The sender goes on at once (or
// waits for the reply), the receiving route works at its own pace. Nothing survives a crash of the
// process: use outbox: where a message must not be lost.
#pragma once

namespace drom {

class Registry;

void register_seda(Registry& registry);

}  // namespace drom
