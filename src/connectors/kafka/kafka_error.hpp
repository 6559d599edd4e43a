// librdkafka's error codes -> Error: the kind decides about retries, the hint says what to change.
// Pure; any thread.
#pragma once

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

#include "drom/base/error.hpp"

namespace drom::kafka {

// `uri` names the endpoint; `text` is librdkafka's or the broker's, may be empty.
Error kafka_error(const std::string& uri, rd_kafka_resp_err_t code, std::string_view text = {});
// Takes and destroys `error`, which is not null.
Error take_error(const std::string& uri, rd_kafka_error_t* error);
// A refusal that waiting does not cure: credentials, certificates, rights.
bool is_refusal(rd_kafka_resp_err_t code);
// The broker cannot be reached at the moment; librdkafka goes on trying by itself.
bool is_connection_loss(rd_kafka_resp_err_t code);

}  // namespace drom::kafka
