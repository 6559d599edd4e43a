#include "connectors/http/tls.hpp"

#include <openssl/ssl.h>

namespace drom::http {
namespace {

namespace ssl = boost::asio::ssl;

TlsContext make_context(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return context;
}

Error unreadable(const std::string& file, const boost::system::error_code& error) {
  return Error(ErrorKind::config, "cannot use the file '" + file + "': " + error.message(),
               "it must be readable and in PEM form");
}

}  // namespace

Result<TlsContext> make_server_tls(const std::string& certificate_file,
                                   const std::string& key_file) {
  TlsContext context = make_context(ssl::context::tls_server);
  boost::system::error_code error;
  context->use_certificate_chain_file(certificate_file, error);
  if (error) return unreadable(certificate_file, error);
  context->use_private_key_file(key_file, ssl::context::pem, error);
  if (error) return unreadable(key_file, error);
  if (SSL_CTX_check_private_key(context->native_handle()) != 1)
    return Error(
        ErrorKind::config,
        "the key '" + key_file + "' does not belong to the certificate '" + certificate_file + "'");
  return context;
}

Result<TlsContext> make_client_tls(const std::string& ca_file, bool trust_all) {
  TlsContext context = make_context(ssl::context::tls_client);
  boost::system::error_code error;
  if (ca_file.empty())
    context->set_default_verify_paths(error);
  else
    context->load_verify_file(ca_file, error);
  if (error) return unreadable(ca_file.empty() ? "the system's authorities" : ca_file, error);
  context->set_verify_mode(trust_all ? ssl::verify_none : ssl::verify_peer);
  return context;
}

}  // namespace drom::http
