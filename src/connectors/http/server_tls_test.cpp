#include "connectors/http/server_tls.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <fstream>

#include "support/harness.hpp"
#include "support/test_certificate.hpp"

namespace drom::http {
namespace {

using drom::testing::CapturedLog;
using drom::testing::TestCertificate;

struct Freed {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

// Moves bytes between the two until both are done or one gives up. True: the server is content.
bool handshake(SSL_CTX* server_context, const TestCertificate* client_certificate) {
  std::unique_ptr<SSL_CTX, Freed> client_context(SSL_CTX_new(TLS_client_method()));
  if (client_certificate) {
    SSL_CTX_use_certificate_file(client_context.get(), client_certificate->certificate().c_str(),
                                 SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(client_context.get(), client_certificate->key().c_str(),
                                SSL_FILETYPE_PEM);
  }
  std::unique_ptr<SSL, Freed> server(SSL_new(server_context));
  std::unique_ptr<SSL, Freed> client(SSL_new(client_context.get()));
  BIO* server_end = nullptr;
  BIO* client_end = nullptr;
  BIO_new_bio_pair(&server_end, 0, &client_end, 0);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  int accepted = 0;
  for (int i = 0; i < 20 && accepted != 1; ++i) {
    SSL_do_handshake(client.get());
    accepted = SSL_do_handshake(server.get());
    if (accepted != 1 && SSL_get_error(server.get(), accepted) != SSL_ERROR_WANT_READ) return false;
  }
  return accepted == 1;
}

class ServerTls : public ::testing::Test {
 protected:
  ServerTlsFiles files(ClientAuth auth) const {
    return {own.certificate(), own.key(), friends.certificate(), auth};
  }
  TestCertificate own{"127.0.0.1"};
  TestCertificate friends{"client"};
  TestCertificate stranger{"stranger"};
  CapturedLog log;
};

TEST_F(ServerTls, NeedsACertificateThatItsAuthoritySigned) {
  const Result<TlsContext> context = make_server_context(files(ClientAuth::need), log);
  ASSERT_TRUE(context) << context.error().message();
  EXPECT_TRUE(handshake((*context)->native_handle(), &friends));
  EXPECT_FALSE(handshake((*context)->native_handle(), &stranger));
  EXPECT_FALSE(handshake((*context)->native_handle(), nullptr));
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(ServerTls, TakesClientsWithoutACertificateWhenItOnlyWantsOne) {
  const Result<TlsContext> context = make_server_context(files(ClientAuth::want), log);
  ASSERT_TRUE(context);
  EXPECT_TRUE(handshake((*context)->native_handle(), &friends));
  EXPECT_FALSE(handshake((*context)->native_handle(), &stranger));
  EXPECT_TRUE(handshake((*context)->native_handle(), nullptr));
}

TEST_F(ServerTls, AsksNobodyByDefault) {
  const Result<TlsContext> context = make_server_context(files(ClientAuth::none), log);
  ASSERT_TRUE(context);
  EXPECT_TRUE(handshake((*context)->native_handle(), &stranger));
  EXPECT_TRUE(handshake((*context)->native_handle(), nullptr));
}

TEST_F(ServerTls, SaysWhichFileIsWrong) {
  const std::string junk = own.certificate() + ".junk";
  std::ofstream(junk) << "no certificate";
  const auto complaint = [&](ServerTlsFiles wrong) {
    const Result<TlsContext> context = make_server_context(wrong, log);
    if (context) return std::string("none");
    EXPECT_EQ(context.error().kind, ErrorKind::config);
    return context.error().message();
  };
  ServerTlsFiles wrong = files(ClientAuth::need);
  wrong.client_ca = junk;
  EXPECT_NE(complaint(wrong).find(junk), std::string::npos);
  EXPECT_NE(complaint(wrong).find("PEM"), std::string::npos);
  wrong.client_ca = "/nowhere/ca.pem";
  EXPECT_NE(complaint(wrong).find("/nowhere/ca.pem"), std::string::npos);
  wrong = files(ClientAuth::none);
  wrong.certificate = junk;
  EXPECT_NE(complaint(wrong).find(junk), std::string::npos);
  wrong = files(ClientAuth::none);
  wrong.key = stranger.key();
  EXPECT_NE(complaint(wrong).find(stranger.key()), std::string::npos);
  wrong.key = "/nowhere/key.pem";
  EXPECT_NE(complaint(wrong).find("/nowhere/key.pem"), std::string::npos);
}

}  // namespace
}  // namespace drom::http
