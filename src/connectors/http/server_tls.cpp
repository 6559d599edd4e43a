#include "connectors/http/server_tls.hpp"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "drom/rt/log.hpp"

namespace drom::http {
namespace {

Error about(const std::string& file, const std::string& what, std::string hint) {
  return Error(ErrorKind::config, "cannot use the file '" + file + "': " + what, std::move(hint));
}

// Clients would refuse it; we say so where the operator looks.
void check_dates(SSL_CTX* context, const std::string& file, Log& log) {
  const X509* const certificate = SSL_CTX_get0_certificate(context);
  if (!certificate) return;
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    log.warn("http", "the certificate '" + file + "' has expired");
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
    log.warn("http", "the certificate '" + file + "' is not valid yet");
}

Result<void> trust_clients(SSL_CTX* context, const ServerTlsFiles& files) {
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(files.client_ca.c_str());
  if (!names || SSL_CTX_load_verify_file(context, files.client_ca.c_str()) != 1) {
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return about(files.client_ca, "there is no certificate in it",
                 "clientCaFile must be readable and hold the certificates, in PEM form, that sign "
                 "those of the clients");
  }
  SSL_CTX_set_client_CA_list(context, names);
  const int need = files.client_auth == ClientAuth::need ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | need, nullptr);
  // Without a name for its sessions OpenSSL refuses to resume those with a client certificate.
  static constexpr unsigned char kName[] = "drom";
  SSL_CTX_set_session_id_context(context, kName, sizeof kName - 1);
  return {};
}

}  // namespace

Result<TlsContext> make_server_context(const ServerTlsFiles& files, Log& log) {
  Result<TlsContext> context = make_server_tls(files.certificate, files.key);
  if (!context) return context;
  check_dates((*context)->native_handle(), files.certificate, log);
  if (files.client_auth == ClientAuth::none) return context;
  const Result<void> trusted = trust_clients((*context)->native_handle(), files);
  if (!trusted) return trusted.error();
  return context;
}

}  // namespace drom::http
