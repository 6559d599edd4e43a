// TLS contexts: TLS 1.2 and later, safe defaults of OpenSSL. Errors are ErrorKind::config and name
// the file. Load time.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "drom/base/error.hpp"

namespace drom::http {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// PEM files: the chain starts with the server's own certificate.
Result<TlsContext> make_server_tls(const std::string& certificate_file,
                                   const std::string& key_file);

// Trusts the system's authorities, or only those of `ca_file` when given. With `trust_all` nothing
// is checked at all.
Result<TlsContext> make_client_tls(const std::string& ca_file, bool trust_all);

}  // namespace drom::http
