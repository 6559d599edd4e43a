#include "eip/steps.hpp"

#include "eip/choice.hpp"
#include "eip/convert_body.hpp"
#include "eip/do_try.hpp"
#include "eip/flow_control.hpp"
#include "eip/idempotent_consumer.hpp"
#include "eip/log.hpp"
#include "eip/multicast.hpp"
#include "eip/pipeline.hpp"
#include "eip/process.hpp"
#include "eip/remove_value.hpp"
#include "eip/send_captured.hpp"
#include "eip/set_value.hpp"
#include "eip/split.hpp"
#include "eip/to.hpp"
#include "eip/to_dynamic.hpp"
#include "eip/transacted.hpp"

namespace drom {

void register_steps(Registry& registry) {
  register_choice(registry);
  register_convert_body(registry);
  register_do_try(registry);
  register_flow_control(registry);
  register_idempotent_consumer(registry);
  register_log_step(registry);
  register_multicast(registry);
  register_pipeline(registry);
  register_process(registry);
  register_remove_value(registry);
  register_send_captured(registry);
  register_set_value(registry);
  register_split(registry);
  register_to(registry);
  register_to_dynamic(registry);
  register_transacted(registry);
}

}  // namespace drom
