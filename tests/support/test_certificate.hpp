// A self-signed certificate made on the spot, for tests of TLS. Any thread.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "drom/base/assert.hpp"

namespace drom::testing {
namespace detail {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};

inline std::unique_ptr<FILE, Freed<std::fclose>> open_file(const std::string& path) {
  std::unique_ptr<FILE, Freed<std::fclose>> out(std::fopen(path.c_str(), "w"));
  DROM_ASSERT(out);
  return out;
}

inline void add_extension(X509* certificate, int id, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value.c_str());
  DROM_ASSERT(extension);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace detail

// A fresh folder with cert.pem and key.pem for `host` (an address or a name), removed at the end.
class TestCertificate {
 public:
  // With less than nothing left it has expired.
  explicit TestCertificate(const std::string& host, long seconds_left = 3600);
  ~TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;
  std::string certificate() const { return folder_ + "/cert.pem"; }
  std::string key() const { return folder_ + "/key.pem"; }

 private:
  std::string folder_;
};

inline TestCertificate::TestCertificate(const std::string& host, long seconds_left) {
  std::string folder = (std::filesystem::temp_directory_path() / "drom-http-XXXXXX").string();
  DROM_ASSERT(::mkdtemp(folder.data()));
  folder_ = folder;

  std::unique_ptr<EVP_PKEY, detail::Freed<EVP_PKEY_free>> key(EVP_EC_gen("P-256"));
  std::unique_ptr<X509, detail::Freed<X509_free>> certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds_left);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("drom test"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  const bool address = host.find_first_not_of("0123456789.") == std::string::npos;
  detail::add_extension(certificate.get(), NID_subject_alt_name, (address ? "IP:" : "DNS:") + host);
  detail::add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  DROM_ASSERT(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);

  const auto certificate_file = detail::open_file(this->certificate());
  PEM_write_X509(certificate_file.get(), certificate.get());
  const auto key_file = detail::open_file(this->key());
  PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

inline TestCertificate::~TestCertificate() {
  std::error_code ignored;  // a temporary folder that stays is no failed test
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace drom::testing
