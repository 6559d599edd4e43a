#include "connectors/kafka/kafka_client.hpp"

#include <openssl/x509.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "connectors/kafka/kafka_error.hpp"
#include "rt/lane.hpp"

namespace drom::kafka {
namespace {

constexpr uint64_t kWake = 1;

Result<void> set(rd_kafka_conf_t* conf, const std::string& uri, const std::string& name,
                 const std::string& value) {
  char text[512] = {};
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text, sizeof text) == RD_KAFKA_CONF_OK)
    return {};
  // The text repeats the value, which may be a secret.
  const bool secret = name.find("password") != std::string::npos;
  return Error(ErrorKind::config,
               uri + ": librdkafka does not accept the setting " + name +
                   (secret ? "" : ": " + std::string(text)),
               "look at the options of the endpoint and at additionalProperties");
}

// With TLS 1.3 the broker judges our certificate when the handshake is over for us: what comes
// looks like a lost connection.
bool wants_our_certificate(std::string_view text) {
  for (const char* const alert : {"alert bad certificate", "alert certificate required",
                                  "alert certificate unknown", "alert unknown ca"})
    if (text.find(alert) != std::string_view::npos) return true;
  return false;
}

}  // namespace

Result<ClientSettings> ClientSettings::make(const std::string& uri, const Settings& settings) {
  ClientSettings out;
  out.conf_.reset(rd_kafka_conf_new(), &rd_kafka_conf_destroy);
  for (const auto& [name, value] : settings) {
    Result<void> done = set(out.conf_.get(), uri, name, value);
    if (!done) return done.error();
  }
  return out;
}

Result<std::unique_ptr<Client>> Client::make(rd_kafka_type_t type, const std::string& uri,
                                             const ClientSettings& settings, const Settings& extra,
                                             int events, boost::asio::io_context& io) {
  std::unique_ptr<Client> out(new Client(uri, io));
  rd_kafka_conf_t* conf = settings.copy();
  for (const auto& [name, value] : extra) {
    Result<void> done = set(conf, uri, name, value);
    if (done) continue;
    rd_kafka_conf_destroy(conf);
    return done.error();
  }
  rd_kafka_conf_set_events(conf, events);
  rd_kafka_conf_set_opaque(conf, out.get());
  rd_kafka_conf_set_ssl_cert_verify_cb(conf, &Client::on_certificate);
  char text[512] = {};
  out->handle_ = rd_kafka_new(type, conf, text, sizeof text);
  if (!out->handle_) {
    rd_kafka_conf_destroy(conf);
    const bool tls = std::string_view(text).find("ssl.") != std::string_view::npos;
    return Error(ErrorKind::config, uri + ": " + text,
                 tls ? "look at sslCaLocation, sslCertificateLocation, sslKeyLocation and "
                       "sslKeyPassword"
                     : "look at the options of the endpoint");
  }
  if (type == RD_KAFKA_CONSUMER) rd_kafka_poll_set_consumer(out->handle_);
  out->queue_ = type == RD_KAFKA_CONSUMER ? rd_kafka_queue_get_consumer(out->handle_)
                                          : rd_kafka_queue_get_main(out->handle_);
  out->fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (out->fd_ < 0) return Error(ErrorKind::transient, uri + ": no more file descriptors");
  rd_kafka_queue_io_event_enable(out->queue_, out->fd_, &kWake, sizeof kWake);
  out->watcher_.assign(out->fd_);
  return out;
}

Client::~Client() {
  if (queue_) {
    rd_kafka_queue_io_event_enable(queue_, -1, nullptr, 0);
    rd_kafka_queue_destroy(queue_);
  }
  if (handle_) rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  watcher_.forget();
  if (fd_ >= 0) ::close(fd_);
}

async<> Client::destroy() {
  rd_kafka_queue_io_event_enable(queue_, -1, nullptr, 0);
  rd_kafka_queue_destroy(queue_);
  queue_ = nullptr;
  Lane lane(io_, "kafka-close");
  rd_kafka_t* const handle = std::exchange(handle_, nullptr);
  auto work = [handle] {
    rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    return true;
  };
  co_await lane.call(work);
}

EventPtr Client::next() { return EventPtr(rd_kafka_queue_poll(queue_, 0)); }

async<> Client::wait(milliseconds timeout) {
  const FdWatcher::Event event = co_await watcher_.wait(FdWatcher::Interest::read, timeout);
  if (event != FdWatcher::Event::ready) co_return;
  uint64_t count = 0;
  while (::read(fd_, &count, sizeof count) > 0) continue;
}

Error Client::trouble(rd_kafka_event_t* event) const {
  return trouble(rd_kafka_event_error(event), rd_kafka_event_error_string(event));
}

Error Client::trouble(rd_kafka_resp_err_t code, std::string_view text) const {
  if (is_connection_loss(code) && wants_our_certificate(text)) code = RD_KAFKA_RESP_ERR__SSL;
  Error out = kafka_error(uri_, code, text);
  const std::lock_guard lock(mutex_);
  if (!refused_.empty() && (code == RD_KAFKA_RESP_ERR__SSL || is_connection_loss(code))) {
    out = kafka_error(uri_, RD_KAFKA_RESP_ERR__SSL, "certificate refused: " + refused_);
  }
  return out;
}

void Client::connected() {
  const std::lock_guard lock(mutex_);
  refused_.clear();
}

int Client::on_certificate(rd_kafka_t*, const char* broker, int32_t, int* error, int, const char*,
                           size_t, char* text, size_t text_size, void* self) {
  if (*error == 0) return 1;
  auto& client = *static_cast<Client*>(self);
  const std::string reason =
      std::string(X509_verify_cert_error_string(*error)) + " (" + broker + ")";
  reason.copy(text, text_size - 1);
  text[std::min(reason.size(), text_size - 1)] = 0;
  const std::lock_guard lock(client.mutex_);
  client.refused_ = reason;
  return 0;
}

}  // namespace drom::kafka
