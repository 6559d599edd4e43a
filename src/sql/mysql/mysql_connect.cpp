// How a session begins: dialling, TLS, and its settings.
#include <signal.h>

#include <charconv>
#include <chrono>

#include "sql/mysql/mysql_connection.hpp"
#include "sql/mysql/mysql_error.hpp"

namespace drom::sql {
namespace {

unsigned whole_seconds(milliseconds time) {
  return static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

// OpenSSL writes to the socket of a server that has gone without asking for no signal.
void block_sigpipe() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

Error no_tls(const MysqlOptions& options) {
  return Error(
      ErrorKind::not_connected,
      "cannot connect to MariaDB: the server of data source '" + options.name + "' offers no TLS",
      "let the server have a certificate, or set sslmode=disable in a trusted network");
}

}  // namespace

bool MysqlOptions::on_this_machine() const {
  return !socket.empty() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

MysqlConnection::MysqlConnection(const MysqlOptions& options)
    : options_(options), statements_(options.statements_max) {}

Result<std::unique_ptr<MysqlConnection>> MysqlConnection::connect(const MysqlOptions& options) {
  block_sigpipe();
  std::unique_ptr<MysqlConnection> self(new MysqlConnection(options));
  if (Result<void> ready = self->dial(); !ready) return ready.error();
  if (Result<void> ready = self->set_up(); !ready) return ready.error();
  return self;
}

Result<void> MysqlConnection::dial() {
  using Tls = MysqlOptions::Tls;
  handle_.reset(mysql_init(nullptr));
  if (!handle_) return Error(ErrorKind::transient, "cannot connect to MariaDB: out of memory");
  MYSQL* const mysql = handle_.get();
  const unsigned connect_s = whole_seconds(options_.connect_timeout);
  // The server gives up a statement itself; this is for one that does not answer at all.
  const unsigned answer_s = whole_seconds(options_.statement_timeout) + 5;
  const unsigned protocol = options_.socket.empty() ? MYSQL_PROTOCOL_TCP : MYSQL_PROTOCOL_SOCKET;
  const unsigned no = 0;
  mysql_options(mysql, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
  mysql_options(mysql, MYSQL_OPT_READ_TIMEOUT, &answer_s);
  mysql_options(mysql, MYSQL_OPT_WRITE_TIMEOUT, &answer_s);
  mysql_options(mysql, MYSQL_OPT_PROTOCOL, &protocol);  // "localhost" would mean the socket
  mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &no);    // no server may ask for our files
  mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "drom");

  Tls tls = options_.tls;
  if (tls == Tls::automatic) tls = options_.on_this_machine() ? Tls::prefer : Tls::verify_full;
  const my_bool yes = 1;
  const my_bool verify = tls == Tls::verify_full ? 1 : 0;
  if (tls != Tls::disable) mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &yes);
  mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
  // An authority alone would ask for TLS.
  if (tls != Tls::disable && !options_.ca_file.empty())
    mysql_options(mysql, MYSQL_OPT_SSL_CA, options_.ca_file.c_str());

  const auto or_null = [](const std::string& text) {
    return text.empty() ? nullptr : text.c_str();
  };
  const char* host = options_.socket.empty() ? options_.host.c_str() : nullptr;
  // CLIENT_FOUND_ROWS: an UPDATE counts the rows that it found, as in the other dialects.
  if (!mysql_real_connect(mysql, host, or_null(options_.user), or_null(options_.password),
                          or_null(options_.database), options_.port, or_null(options_.socket),
                          CLIENT_FOUND_ROWS)) {
    Error error = failure();
    error.what = "cannot connect: " + error.what;
    return error;
  }
  if (tls == Tls::require && !mysql_get_ssl_cipher(mysql)) return no_tls(options_);
  mariadb_ = mariadb_connection(mysql) != 0;
  return {};
}

Result<void> MysqlConnection::set_up() {
  const int64_t lock_wait_s = whole_seconds(options_.statement_timeout);
  std::string settings =
      "SET SESSION autocommit = 1, time_zone = '+00:00', sql_mode = 'STRICT_ALL_TABLES,"
      "NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION', "
      "innodb_lock_wait_timeout = " +
      std::to_string(lock_wait_s);
  // MySQL limits only SELECT; there the wait for locks and the client's patience bound the rest.
  if (mariadb_)
    settings += ", max_statement_time = " +
                std::to_string(static_cast<double>(options_.statement_timeout.count()) / 1000.0);
  else
    settings += ", max_execution_time = " + std::to_string(options_.statement_timeout.count());
  if (Result<void> done = run_text(settings); !done) return done;
  if (Result<void> done = run_text("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"); !done)
    return done;
  const Result<Rows> packet = execute(Command{"SELECT @@max_allowed_packet", {}});
  if (!packet) return packet.error();
  packet_bytes_max_ = static_cast<size_t>(packet->rows.at(0).at(0).to_int().value_or(0));
  return {};
}

}  // namespace drom::sql
