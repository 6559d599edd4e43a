#include "connectors/kafka/kafka_error.hpp"

#include <array>

namespace drom::kafka {
namespace {

struct Row {
  rd_kafka_resp_err_t code;
  ErrorKind kind;
  const char* hint;
};

constexpr const char* kSecurity =
    "look at securityProtocol, saslMechanism, saslUsername and saslPassword";
constexpr const char* kCertificate =
    "look at sslCaLocation, at the host name in brokers, at the dates of the certificates, and at "
    "sslCertificateLocation if the broker asks for one";
constexpr const char* kTopic =
    "create the topic, or correct its name; the brokers may be told to create topics by themselves";
constexpr const char* kLarge =
    "raise maxRequestSize here and message.max.bytes of the topic, or send less";

// Errors that are not listed are worth another try.
constexpr std::array kRows = {
    Row{RD_KAFKA_RESP_ERR__AUTHENTICATION, ErrorKind::rejected, kSecurity},
    Row{RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, ErrorKind::rejected, kSecurity},
    Row{RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, ErrorKind::rejected, kSecurity},
    Row{RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE, ErrorKind::rejected, kSecurity},
    Row{RD_KAFKA_RESP_ERR__SSL, ErrorKind::rejected, kCertificate},
    Row{RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, ErrorKind::rejected,
        "give the user the right to read or write the topic"},
    Row{RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, ErrorKind::rejected,
        "give the user the right to read with this groupId"},
    Row{RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, ErrorKind::rejected,
        "give the user the right to write idempotently"},
    Row{RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, ErrorKind::rejected,
        "give the user the right to write with this transactionalIdPrefix"},
    Row{RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, ErrorKind::rejected, kTopic},
    Row{RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC, ErrorKind::rejected, kTopic},
    Row{RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, ErrorKind::rejected,
        "the topic has no such partition"},
    Row{RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION, ErrorKind::rejected, kTopic},
    Row{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, ErrorKind::data, kLarge},
    Row{RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE, ErrorKind::data, kLarge},
    Row{RD_KAFKA_RESP_ERR_INVALID_MSG, ErrorKind::data, ""},
    Row{RD_KAFKA_RESP_ERR_INVALID_RECORD, ErrorKind::data,
        "the broker's rules for the topic refuse the record"},
    Row{RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP, ErrorKind::data, ""},
    Row{RD_KAFKA_RESP_ERR__INVALID_ARG, ErrorKind::data, ""},
    Row{RD_KAFKA_RESP_ERR_POLICY_VIOLATION, ErrorKind::rejected, ""},
    Row{RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE, ErrorKind::rejected,
        "choose another compressionType"},
    Row{RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL, ErrorKind::rejected,
        "all members of a group need the same partitionAssignmentStrategy"},
    Row{RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET, ErrorKind::rejected,
        "there is no committed offset that the topic still has; use autoOffsetReset=earliest or "
        "latest, or seekTo"},
    Row{RD_KAFKA_RESP_ERR__TRANSPORT, ErrorKind::not_connected, ""},
    Row{RD_KAFKA_RESP_ERR__RESOLVE, ErrorKind::not_connected, "look at the host name in brokers"},
    Row{RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, ErrorKind::not_connected, ""},
    Row{RD_KAFKA_RESP_ERR__DESTROY, ErrorKind::not_connected, ""},
    Row{RD_KAFKA_RESP_ERR__PURGE_QUEUE, ErrorKind::not_connected, ""},
    Row{RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, ErrorKind::not_connected, ""},
    Row{RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, ErrorKind::timeout,
        "nobody has acknowledged the record within messageTimeoutMs"},
    Row{RD_KAFKA_RESP_ERR__TIMED_OUT, ErrorKind::timeout, ""},
    Row{RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, ErrorKind::timeout, ""},
};

const Row* find(rd_kafka_resp_err_t code) {
  for (const Row& row : kRows)
    if (row.code == code) return &row;
  return nullptr;
}

}  // namespace

Error kafka_error(const std::string& uri, rd_kafka_resp_err_t code, std::string_view text) {
  const Row* row = find(code);
  Error out(row ? row->kind : ErrorKind::transient, uri + ": " + rd_kafka_err2str(code),
            row ? row->hint : "");
  if (!text.empty() && text != rd_kafka_err2str(code)) out.what += ": " + std::string(text);
  out.type = rd_kafka_err2name(code);
  return out;
}

Error take_error(const std::string& uri, rd_kafka_error_t* error) {
  Error out = kafka_error(uri, rd_kafka_error_code(error), rd_kafka_error_string(error));
  rd_kafka_error_destroy(error);
  return out;
}

bool is_refusal(rd_kafka_resp_err_t code) {
  const Row* row = find(code);
  return row && row->kind == ErrorKind::rejected;
}

bool is_connection_loss(rd_kafka_resp_err_t code) {
  const Row* row = find(code);
  return row && row->kind == ErrorKind::not_connected;
}

}  // namespace drom::kafka
