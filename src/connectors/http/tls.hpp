// TLS contexts: TLS 1.2 and later, safe defaults of OpenSSL; and what its errors mean. Errors of
// the makers are ErrorKind::config and name the file. Load time; the errors on the shard.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "drom/base/error.hpp"

namespace drom::http {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// PEM files: the chain starts with the server's own certificate.
Result<TlsContext> make_server_tls(const std::string& certificate_file,
                                   const std::string& key_file);

// Whom a client trusts, and who it says it is.
struct ClientTls {
  std::string ca_file;           // empty: the system's authorities
  bool trust_all = false;        // nothing is checked at all
  std::string certificate_file;  // empty: the client shows none
  std::string key_file;
  std::string key_password;  // secret; empty: the key is not encrypted

  // Contexts of equal ids are the same. No secret is in it.
  std::string id() const;
};

Result<TlsContext> make_client_tls(const ClientTls& files);

// The name or address that the other side's certificate must be for; asks for it by name (SNI).
void expect_host(SSL* ssl, const std::string& host);

// Why a handshake with `peer` ("host:port") has failed: `rejected` when trying again cannot help (a
// wrong, expired or unknown certificate, no TLS there at all), else `not_connected`.
Error handshake_error(SSL* ssl, const std::string& peer, const boost::system::error_code& ec);

// An alert by which the other side has refused us, also after the handshake, where TLS 1.3 tells a
// client that its certificate will not do. nullopt: something else.
std::optional<Error> refused_by_alert(const std::string& peer, const boost::system::error_code& ec);

}  // namespace drom::http
