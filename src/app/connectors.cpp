// The one list of what this build knows. A new connector is one include and one line here.
#include "connectors/direct/direct.hpp"
#include "connectors/file/file.hpp"
#include "connectors/http/http.hpp"
#ifdef DROM_KAFKA
#include "connectors/kafka/kafka.hpp"
#endif
#include "connectors/log/log.hpp"
#include "connectors/mock/mock.hpp"
#include "connectors/outbox/outbox.hpp"
#ifdef DROM_RABBITMQ
#include "connectors/rabbitmq/rabbitmq.hpp"
#endif
#include "connectors/seda/seda.hpp"
#include "connectors/sql/sql.hpp"
#include "connectors/stub/stub.hpp"
#include "connectors/timer/timer.hpp"
#include "drom/app.hpp"
#include "eip/steps.hpp"
#include "formats/formats.hpp"
#include "spi/memory_idempotent_repository.hpp"
#include "sql/sql.hpp"
#include "sql/sql_idempotent_repository.hpp"

namespace drom {

void register_builtin(Registry& registry) {
  register_steps(registry);
  register_formats(registry);

  register_direct(registry);
  register_file(registry);
  register_http(registry);
#ifdef DROM_KAFKA
  register_kafka(registry);
#endif
  register_log_component(registry);
  register_mock(registry);
  register_outbox(registry);
#ifdef DROM_RABBITMQ
  register_rabbitmq(registry);
#endif
  register_seda(registry);
  register_sql_component(registry);
  register_stub(registry);
  register_timer(registry);

  sql::register_sql(registry);
  register_sql_idempotent(registry);
  register_memory_idempotent_repository(registry);
}

}  // namespace drom
