#include "connectors/http/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>

namespace drom::http {
namespace {

namespace ssl = boost::asio::ssl;

TlsContext make_context(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Without this OpenSSL asks the terminal for the password of an encrypted key.
  context->set_password_callback(
      [](size_t, ssl::context::password_purpose) { return std::string(); });
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

std::string ClientTls::id() const {
  if (trust_all) return "any " + certificate_file + " " + key_file;
  return ca_file + " " + certificate_file + " " + key_file;
}

Result<TlsContext> make_client_tls(const ClientTls& files) {
  TlsContext context = make_context(ssl::context::tls_client);
  boost::system::error_code error;
  if (files.ca_file.empty())
    context->set_default_verify_paths(error);
  else
    context->load_verify_file(files.ca_file, error);
  if (error)
    return unreadable(files.ca_file.empty() ? "the system's authorities" : files.ca_file, error);
  context->set_verify_mode(files.trust_all ? ssl::verify_none : ssl::verify_peer);
  if (files.certificate_file.empty()) return context;
  context->use_certificate_chain_file(files.certificate_file, error);
  if (error) return unreadable(files.certificate_file, error);
  const std::string password = files.key_password;
  context->set_password_callback(
      [password](size_t, ssl::context::password_purpose) { return password; }, error);
  context->use_private_key_file(files.key_file, ssl::context::pem, error);
  if (error) {
    Error wrong = unreadable(files.key_file, error);
    wrong.hint += files.key_password.empty() ? "; an encrypted key needs keyPassword"
                                             : "; is keyPassword the right one?";
    return wrong;
  }
  if (SSL_CTX_check_private_key(context->native_handle()) != 1)
    return Error(ErrorKind::config, "the key '" + files.key_file +
                                        "' does not belong to the certificate '" +
                                        files.certificate_file + "'");
  return context;
}

void expect_host(SSL* ssl, const std::string& host) {
  boost::system::error_code no_address;
  boost::asio::ip::make_address(host, no_address);
  // Server names are names: an address must not be sent as one (RFC 6066, 3).
  if (no_address) {
    SSL_set_tlsext_host_name(ssl, host.c_str());
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    SSL_set1_host(ssl, host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
  }
}

std::optional<Error> refused_by_alert(const std::string& peer,
                                      const boost::system::error_code& ec) {
  constexpr int kAlert = 1000;  // OpenSSL counts alerts from here on
  if (ec.category() != boost::asio::error::get_ssl_category()) return std::nullopt;
  const int alert = ERR_GET_REASON(static_cast<unsigned long>(ec.value())) - kAlert;
  switch (alert) {
    case SSL3_AD_HANDSHAKE_FAILURE:
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return Error(ErrorKind::rejected, peer + " wants a certificate, or another kind of TLS",
                   "give it one by certificateFile and keyFile");
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_REVOKED:
    case SSL3_AD_CERTIFICATE_EXPIRED:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_UNKNOWN_CA:
    case TLS1_AD_ACCESS_DENIED:
      return Error(ErrorKind::rejected, peer + " refuses our certificate: " + ec.message(),
                   "certificateFile must be valid and from an authority that the server knows");
    case TLS1_AD_PROTOCOL_VERSION:
      return Error(ErrorKind::rejected, peer + " speaks no TLS 1.2 or later");
    case TLS1_AD_UNRECOGNIZED_NAME:
      return Error(ErrorKind::rejected, peer + " does not know this host name");
    default: return std::nullopt;
  }
}

namespace {

Error certificate_error(long verdict, const std::string& peer) {
  const std::string of_peer = "the certificate of " + peer;
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Error(ErrorKind::rejected, of_peer + " has expired",
                   "the server needs a new one, or the clock of this machine is wrong");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Error(ErrorKind::rejected, of_peer + " is not valid yet",
                   "is the clock of this machine right?");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return Error(ErrorKind::rejected, of_peer + " is for another host",
                   "use a name that stands in the certificate, or check where the name leads");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return Error(ErrorKind::rejected, of_peer + " is from an unknown authority",
                   "name the authority by the option caFile");
    default:
      return Error(ErrorKind::rejected,
                   of_peer + " is not good: " + X509_verify_cert_error_string(verdict));
  }
}

}  // namespace

Error handshake_error(SSL* ssl, const std::string& peer, const boost::system::error_code& ec) {
  if (ec.category() == boost::asio::error::get_ssl_category()) {
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(ec.value()));
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED)
      return certificate_error(SSL_get_verify_result(ssl), peer);
    if (std::optional<Error> refused = refused_by_alert(peer, ec)) return *refused;
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
        reason == SSL_R_HTTP_REQUEST)
      return Error(ErrorKind::rejected, peer + " does not speak TLS", "is it an http:// address?");
  }
  return Error(ErrorKind::not_connected, "no TLS connection to " + peer + ": " + ec.message());
}

}  // namespace drom::http
