#include "sql/sqlite/sqlite_error.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <iterator>

namespace drom::sql {
namespace {

struct Name {
  int code;
  std::string_view name;
};

constexpr Name kNames[] = {
    {SQLITE_ERROR, "SQLITE_ERROR"},
    {SQLITE_INTERNAL, "SQLITE_INTERNAL"},
    {SQLITE_PERM, "SQLITE_PERM"},
    {SQLITE_ABORT, "SQLITE_ABORT"},
    {SQLITE_BUSY, "SQLITE_BUSY"},
    {SQLITE_LOCKED, "SQLITE_LOCKED"},
    {SQLITE_NOMEM, "SQLITE_NOMEM"},
    {SQLITE_READONLY, "SQLITE_READONLY"},
    {SQLITE_INTERRUPT, "SQLITE_INTERRUPT"},
    {SQLITE_IOERR, "SQLITE_IOERR"},
    {SQLITE_CORRUPT, "SQLITE_CORRUPT"},
    {SQLITE_FULL, "SQLITE_FULL"},
    {SQLITE_CANTOPEN, "SQLITE_CANTOPEN"},
    {SQLITE_PROTOCOL, "SQLITE_PROTOCOL"},
    {SQLITE_SCHEMA, "SQLITE_SCHEMA"},
    {SQLITE_TOOBIG, "SQLITE_TOOBIG"},
    {SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT"},
    {SQLITE_MISMATCH, "SQLITE_MISMATCH"},
    {SQLITE_MISUSE, "SQLITE_MISUSE"},
    {SQLITE_AUTH, "SQLITE_AUTH"},
    {SQLITE_RANGE, "SQLITE_RANGE"},
    {SQLITE_NOTADB, "SQLITE_NOTADB"},
    {SQLITE_BUSY_RECOVERY, "SQLITE_BUSY_RECOVERY"},
    {SQLITE_BUSY_SNAPSHOT, "SQLITE_BUSY_SNAPSHOT"},
    {SQLITE_BUSY_TIMEOUT, "SQLITE_BUSY_TIMEOUT"},
    {SQLITE_LOCKED_SHAREDCACHE, "SQLITE_LOCKED_SHAREDCACHE"},
    {SQLITE_CONSTRAINT_CHECK, "SQLITE_CONSTRAINT_CHECK"},
    {SQLITE_CONSTRAINT_COMMITHOOK, "SQLITE_CONSTRAINT_COMMITHOOK"},
    {SQLITE_CONSTRAINT_DATATYPE, "SQLITE_CONSTRAINT_DATATYPE"},
    {SQLITE_CONSTRAINT_FOREIGNKEY, "SQLITE_CONSTRAINT_FOREIGNKEY"},
    {SQLITE_CONSTRAINT_FUNCTION, "SQLITE_CONSTRAINT_FUNCTION"},
    {SQLITE_CONSTRAINT_NOTNULL, "SQLITE_CONSTRAINT_NOTNULL"},
    {SQLITE_CONSTRAINT_PINNED, "SQLITE_CONSTRAINT_PINNED"},
    {SQLITE_CONSTRAINT_PRIMARYKEY, "SQLITE_CONSTRAINT_PRIMARYKEY"},
    {SQLITE_CONSTRAINT_ROWID, "SQLITE_CONSTRAINT_ROWID"},
    {SQLITE_CONSTRAINT_TRIGGER, "SQLITE_CONSTRAINT_TRIGGER"},
    {SQLITE_CONSTRAINT_UNIQUE, "SQLITE_CONSTRAINT_UNIQUE"},
    {SQLITE_CONSTRAINT_VTAB, "SQLITE_CONSTRAINT_VTAB"},
    {SQLITE_CANTOPEN_ISDIR, "SQLITE_CANTOPEN_ISDIR"},
    {SQLITE_CORRUPT_INDEX, "SQLITE_CORRUPT_INDEX"},
    {SQLITE_IOERR_READ, "SQLITE_IOERR_READ"},
    {SQLITE_IOERR_WRITE, "SQLITE_IOERR_WRITE"},
    {SQLITE_IOERR_FSYNC, "SQLITE_IOERR_FSYNC"},
    {SQLITE_READONLY_DBMOVED, "SQLITE_READONLY_DBMOVED"},
    {SQLITE_READONLY_DIRECTORY, "SQLITE_READONLY_DIRECTORY"},
};

struct Meaning {
  ErrorKind kind;
  std::string_view hint;
};

Meaning meaning_of(int primary) {
  switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {ErrorKind::transient, "another process is writing to the file; raise busyTimeout"};
    case SQLITE_FULL: return {ErrorKind::transient, "free space on the disk of the database file"};
    case SQLITE_IOERR: return {ErrorKind::transient, "check the disk of the database file"};
    case SQLITE_NOMEM: return {ErrorKind::transient, "give the process more memory"};
    case SQLITE_SCHEMA:
    case SQLITE_ABORT: return {ErrorKind::transient, ""};
    case SQLITE_CANTOPEN:
      return {ErrorKind::not_connected,
              "check that the path of `file` is right and that its folder may be written"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return {ErrorKind::rejected, "the file is damaged or no SQLite database: restore a backup"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return {ErrorKind::rejected, "the database file and its folder must be writable"};
    case SQLITE_INTERRUPT: return {ErrorKind::cancelled, ""};
    case SQLITE_MISUSE: return {ErrorKind::bug, ""};
    default: return {ErrorKind::rejected, ""};
  }
}

}  // namespace

std::string sqlite_code_name(int extended_code) {
  const auto with_code = [](int code) {
    return std::find_if(std::begin(kNames), std::end(kNames),
                        [code](const Name& n) { return n.code == code; });
  };
  if (const auto* found = with_code(extended_code); found != std::end(kNames))
    return std::string(found->name);
  const auto* primary = with_code(extended_code & 0xff);
  const std::string_view base = primary == std::end(kNames) ? "SQLITE_ERROR" : primary->name;
  return std::string(base) + "_" + std::to_string(extended_code);
}

Error sqlite_error(int extended_code, std::string_view message) {
  const Meaning meaning = meaning_of(extended_code & 0xff);
  Error error(meaning.kind, "SQLite: " + std::string(message), std::string(meaning.hint));
  error.type = sqlite_code_name(extended_code);
  return error;
}

Error sqlite_error(sqlite3* db) {
  return sqlite_error(sqlite3_extended_errcode(db), sqlite3_errmsg(db));
}

}  // namespace drom::sql
