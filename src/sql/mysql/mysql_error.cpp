#include "sql/mysql/mysql_error.hpp"

namespace drom::sql {
namespace {

// Numbers are used as they are: those of MySQL and of MariaDB do not stand in one header.
struct Meaning {
  ErrorKind kind;
  std::string_view hint;
};

Meaning meaning_of(unsigned code) {
  switch (code) {
    case 1213:
    case 1614:  // deadlock, found inside an XA transaction
    case 3101:  // a group member has rolled back
      return {ErrorKind::transient, "the server has broken a deadlock"};
    case 1205:
    case 3572:
      return {ErrorKind::transient,
              "another transaction holds the lock; statementTimeout sets how long to wait"};
    case 1020: return {ErrorKind::transient, "another transaction has changed the row"};
    case 1206: return {ErrorKind::transient, "raise innodb_buffer_pool_size"};
    case 1317: return {ErrorKind::transient, "the statement was cancelled"};
    case 1969:
    case 3024:
      return {
          ErrorKind::transient,
          "the server has given up the statement; raise statementTimeout if it may take longer"};
    case 1290:
    case 1792:
    case 1836: return {ErrorKind::transient, "this server is read-only: connect to the primary"};
    case 1021:
    case 1114: return {ErrorKind::transient, "free disk space on the server"};
    case 1037:
    case 1038:
    case 1041: return {ErrorKind::transient, "the server has no memory left"};
    case 1461: return {ErrorKind::transient, "raise max_prepared_stmt_count or lower `statements`"};
    case 1615:
    case 2057:
      return {ErrorKind::transient,
              "the schema has changed; the statement is prepared again at the next try"};
    case 1637: return {ErrorKind::transient, "the server has too many transactions"};
    case 1153:
    case 1162:
    case 1301:
    case 2020: return {ErrorKind::data, "raise max_allowed_packet on the server, or send less"};
    case 1040:
    case 1203: return {ErrorKind::not_connected, "raise max_connections or lower poolSize"};
    case 1129: return {ErrorKind::not_connected, "the server has blocked us: FLUSH HOSTS"};
    case 1044:
    case 1045:
    case 1698:
      return {ErrorKind::rejected, "check the user name, the password and the user's grants"};
    case 1049: return {ErrorKind::rejected, "check the name of the database"};
    case 2026:
      return {ErrorKind::not_connected,
              "check the server's certificate; sslrootcert names the authority, sslmode sets how "
              "much is checked"};
    default: break;
  }
  if (ends_session(code)) return {ErrorKind::not_connected, ""};
  return {ErrorKind::rejected, ""};
}

// "Duplicate entry 'a value' for key", "Incorrect integer value: 'a value' for column".
std::string without_value(std::string_view message) {
  const size_t first = message.find('\'');
  const size_t last = message.rfind("' for ");
  if (first == std::string_view::npos || last == std::string_view::npos || last < first)
    return std::string(message);
  std::string out(message.substr(0, first));
  out += "'...";
  out += message.substr(last);
  return out;
}

bool tells_value(unsigned code) {
  switch (code) {
    case 1062:
    case 1292:
    case 1300:
    case 1366:
    case 1411:
    case 1525:
    case 1586:
    case 1859: return true;
    default: return false;
  }
}

}  // namespace

bool ends_session(unsigned code) {
  switch (code) {
    case 1047:  // Galera: not in the cluster now
    case 1053:
    case 1080:
    case 1152:
    case 1153:  // the server hangs up after a packet that is too large
    case 1158:
    case 1159:
    case 1160:
    case 1161:
    case 1184:
    case 1927:
    case 2000:
    case 2001:
    case 2002:
    case 2003:
    case 2004:
    case 2005:
    case 2006:
    case 2007:
    case 2012:
    case 2013:
    case 2014:
    case 2020:
    case 2026:
    case 2027:
    case 2048:
    case 2055:
    case 3032:
    case 4031: return true;
    default: return false;
  }
}

bool is_stale_statement(unsigned code) { return code == 1243 || code == 1615 || code == 2057; }

bool is_unpreparable(unsigned code) { return code == 1295; }

Error mysql_error(unsigned code, std::string_view sqlstate, std::string_view message,
                  std::string_view server) {
  const Meaning meaning = meaning_of(code);
  Error error(meaning.kind,
              std::string(server) + ": " +
                  (tells_value(code) ? without_value(message) : std::string(message)),
              std::string(meaning.hint));
  error.type = std::string(sqlstate);
  return error;
}

}  // namespace drom::sql
