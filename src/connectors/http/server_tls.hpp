// The TLS context of a server, with or without certificates of its clients. Errors are
// ErrorKind::config, name the file and say what to change. Load time.
#pragma once

#include <string>

#include "connectors/http/tls.hpp"

namespace drom {
class Log;
}

namespace drom::http {

enum class ClientAuth : uint8_t {
  none,
  want,  // a client may show a certificate; a bad one ends the handshake
  need,
};

struct ServerTlsFiles {
  std::string certificate;  // PEM, with its chain
  std::string key;
  std::string client_ca;  // who signs the certificates of clients
  ClientAuth client_auth = ClientAuth::none;
};

// Warns of a certificate that is not valid now.
Result<TlsContext> make_server_context(const ServerTlsFiles& files, Log& log);

}  // namespace drom::http
