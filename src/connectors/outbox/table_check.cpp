#include "connectors/outbox/table_check.hpp"

#include <algorithm>

#include "connectors/outbox/outbox_sql.hpp"
#include "connectors/outbox/outbox_store.hpp"
#include "drom/model/headers.hpp"

namespace drom::outbox {
namespace {

using sql::Dialect;

// What our own table must have, with the type that a column added later gets.
struct OwnColumn {
  std::string_view name;
  std::string_view postgres;
  std::string_view sqlite;  // empty: cannot be added to a table that exists
  std::string_view mysql;
};
constexpr OwnColumn kOwnColumns[] = {
    {"id", "bigserial PRIMARY KEY", "", "bigint NOT NULL AUTO_INCREMENT PRIMARY KEY"},
    {"event_id", "text NOT NULL DEFAULT gen_random_uuid()::text", "",
     "varchar(255) NOT NULL DEFAULT (uuid())"},
    {"key", "text", "TEXT", "varchar(512)"},
    {"type", "text", "TEXT", "varchar(255)"},
    {"payload", "text", "TEXT", "longtext"},
    {"payload_bytes", "bytea", "BLOB", "longblob"},
    {"headers", "text", "TEXT", "longtext"},
    {"created_at", "timestamptz NOT NULL DEFAULT now()", "",
     "timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"},
    {"available_at", "timestamptz", "TEXT", "timestamp(3) NULL DEFAULT NULL"},
    {"expires_at", "timestamptz", "TEXT", "timestamp(3) NULL DEFAULT NULL"},
    {"status", "text NOT NULL DEFAULT 'due'", "TEXT NOT NULL DEFAULT 'due'",
     "varchar(8) NOT NULL DEFAULT 'due'"},
    {"attempts", "integer NOT NULL DEFAULT 0", "INTEGER NOT NULL DEFAULT 0",
     "int NOT NULL DEFAULT 0"},
    {"next_attempt_at", "timestamptz", "TEXT", "datetime(3)"},
    {"last_error", "text", "TEXT", "text"},
    {"sent_at", "timestamptz", "TEXT", "datetime(3)"},
};

ColumnKind postgres_kind(std::string_view type) {
  if (type == "smallint" || type == "integer" || type == "bigint") return ColumnKind::integer;
  if (type == "boolean") return ColumnKind::boolean;
  if (type == "bytea") return ColumnKind::bytes;
  if (type.starts_with("timestamp") && type.ends_with("without time zone"))
    return ColumnKind::local_time;
  if (type.starts_with("timestamp")) return ColumnKind::instant;
  return ColumnKind::unknown;
}

// SQLite's affinity rules, and the names that people use for times.
ColumnKind sqlite_kind(std::string type) {
  std::ranges::transform(type, type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (type.find("int") != std::string::npos) return ColumnKind::integer;
  if (type.starts_with("bool")) return ColumnKind::boolean;
  if (type.starts_with("blob")) return ColumnKind::bytes;
  if (type.starts_with("date") || type.starts_with("timestamp")) return ColumnKind::instant;
  return ColumnKind::unknown;
}

// By the whole type, like "tinyint(1)" or "int(10) unsigned".
ColumnKind mysql_kind(std::string_view type) {
  if (type == "tinyint(1)" || type == "bit(1)") return ColumnKind::boolean;
  for (const std::string_view name : {"tinyint", "smallint", "mediumint", "int", "bigint"})
    if (type.starts_with(name)) return ColumnKind::integer;
  if (type.starts_with("binary") || type.starts_with("varbinary") || type.ends_with("blob"))
    return ColumnKind::bytes;
  if (type.starts_with("timestamp")) return ColumnKind::instant;
  if (type.starts_with("datetime")) return ColumnKind::local_time;
  return ColumnKind::unknown;
}

ColumnKind kind_of(Dialect dialect, const std::string& type) {
  switch (dialect) {
    case Dialect::postgres: return postgres_kind(type);
    case Dialect::mysql: return mysql_kind(type);
    case Dialect::sqlite: return sqlite_kind(type);
  }
  return ColumnKind::unknown;
}

const CatalogColumn* find(const CatalogTable& table, std::string_view name) {
  for (const CatalogColumn& column : table.columns)
    if (column.name == name) return &column;
  for (const CatalogColumn& column : table.columns)
    if (iequals(column.name, name)) return &column;
  return nullptr;
}

std::string alter(Dialect dialect, const CatalogTable& table, std::string_view column,
                  std::string_view type) {
  return "ALTER TABLE " + table.sql_name + " ADD COLUMN " + quoted(dialect, column) + " " +
         std::string(type) + ";";
}

std::string names(const CatalogTable& table) {
  std::string out;
  for (const CatalogColumn& column : table.columns) out += (out.empty() ? "" : ", ") + column.name;
  return out;
}

class Resolver {
 public:
  Resolver(Dialect dialect, const CatalogTable& table) : dialect_(dialect), table_(table) {}

  void take(Column& column, std::string_view postgres_type, std::string_view sqlite_type,
            std::string_view mysql_type) {
    if (!column) return;
    const CatalogColumn* found = find(table_, column.name);
    if (found) {
      column.name = found->name;
      column.kind = found->kind;
      return;
    }
    if (column.optional) {
      column = Column();
      return;
    }
    missing_ += (missing_.empty() ? "" : ", ") + column.name;
    ddl_ += alter(dialect_, table_, column.name,
                  dialect_ == Dialect::postgres ? postgres_type
                  : dialect_ == Dialect::mysql  ? mysql_type
                                                : sqlite_type) +
            " ";
  }

  // The column that orders the rows: the one named, else an integer id, else `seq`.
  std::optional<Error> take_sequence(TableShape& shape) {
    if (!shape.sequence) {
      const CatalogColumn* id = shape.event_id ? find(table_, shape.event_id.name) : nullptr;
      const bool by_id = id && id->kind == ColumnKind::integer;
      shape.sequence.name = by_id ? id->name : "seq";
    }
    const CatalogColumn* found = find(table_, shape.sequence.name);
    if (found && found->kind == ColumnKind::integer) {
      shape.sequence = Column{found->name, found->kind};
      return std::nullopt;
    }
    if (found)
      return Error(ErrorKind::config,
                   "column " + found->name + " of table " + table_.sql_name + " is of type " +
                       found->type + " and cannot order its rows",
                   "name an integer column that the database counts up: sequenceColumn=...; " +
                       sequence_ddl(found->name == "seq" ? "seq2" : "seq"));
    return Error(
        ErrorKind::config,
        "table " + table_.sql_name + " has no integer column that orders its rows (sequenceColumn)",
        sequence_ddl(shape.sequence.name));
  }

  std::optional<Error> error() const {
    if (missing_.empty()) return std::nullopt;
    std::string ddl = ddl_;
    ddl.pop_back();
    return Error(ErrorKind::config, "table " + table_.sql_name + " has no column " + missing_,
                 ddl + " (or name another column; the table has " + names(table_) + ")");
  }

 private:
  std::string sequence_ddl(std::string_view name) const {
    if (dialect_ == Dialect::postgres)
      return alter(dialect_, table_, name, "bigserial") + " CREATE INDEX ON " + table_.sql_name +
             " (" + quoted(dialect_, name) + ");";
    if (dialect_ == Dialect::mysql)
      return alter(dialect_, table_, name, "bigint NOT NULL AUTO_INCREMENT UNIQUE");
    return "create the table anew with " + quoted(dialect_, name) +
           " INTEGER PRIMARY KEY AUTOINCREMENT";
  }

  Dialect dialect_;
  const CatalogTable& table_;
  std::string missing_, ddl_;
};

Result<TableShape> resolve_own(Dialect dialect, TableShape shape, const CatalogTable& table) {
  std::string missing, ddl;
  bool addable = true;
  for (const OwnColumn& column : kOwnColumns) {
    if (find(table, column.name)) continue;
    const std::string_view type = dialect == Dialect::postgres ? column.postgres
                                  : dialect == Dialect::mysql  ? column.mysql
                                                               : column.sqlite;
    missing += (missing.empty() ? "" : ", ") + std::string(column.name);
    addable = addable && !type.empty();
    ddl += (ddl.empty() ? "" : " ") + alter(dialect, table, column.name, type);
  }
  if (missing.empty()) return shape;
  return Error(ErrorKind::config,
               "table " + shape.table +
                   " is not an outbox that we can work with: it has no column " + missing,
               addable ? ddl : "`drom outbox init` prints the table definition");
}

Error no_table(const std::string& table) {
  return Error(ErrorKind::config, "table " + table + " does not exist",
               "the application that writes its rows creates it; check the option `table`");
}

bool tells_of_schema(const Error& failure) {
  return failure.type == "42703" || failure.type == "42P01" || failure.type == "42S22" ||
         failure.type == "42S02" || failure.what.find("no such column") != std::string::npos ||
         failure.what.find("no such table") != std::string::npos;
}

async<Result<void>> prepare_archive(sql::Database& database, CatalogTable table, bool create) {
  const Dialect dialect = database.dialect();
  const std::string name = archive_table(table.sql_name);
  Result<CatalogTable> archive = co_await read_catalog(database, name);
  if (!archive) co_return std::move(archive.error());
  if (archive->sql_name.empty()) {
    std::string ddl = archive_ddl(dialect, table);
    if (!create)
      co_return Error(ErrorKind::config, "table " + name + " does not exist",
                      "set createTable=true, or run: " + ddl);
    Result<void> created = co_await database.script(std::move(ddl));
    Result<CatalogTable> again = co_await read_catalog(database, name);
    if (!again) co_return std::move(again.error());
    if (again->sql_name.empty()) co_return created;
    archive = std::move(again);
  }
  std::string ddl;
  std::string missing;
  for (const CatalogColumn& column : table.columns) {
    if (column.generated || find(*archive, column.name)) continue;
    missing += (missing.empty() ? "" : ", ") + column.name;
    ddl += (ddl.empty() ? "" : " ") + alter(dialect, *archive, column.name, column.type);
  }
  if (missing.empty()) co_return Result<void>();
  co_return Error(ErrorKind::config, "table " + name + " has no column " + missing, ddl);
}

async<Result<void>> prepare_companions(sql::Database& database, bool create) {
  for (const char* name : {"drom_lease", "drom_trouble"}) {
    Result<CatalogTable> table = co_await read_catalog(database, name);
    if (!table) co_return std::move(table.error());
    if (!table->sql_name.empty()) continue;
    if (!create)
      co_return Error(ErrorKind::config, "table " + std::string(name) + " does not exist",
                      "set createTable=true, or create it with `drom outbox init`");
    Result<void> created = co_await database.script(companion_ddl(database.dialect()));
    // Another process may have created it in between; PostgreSQL then reports a conflict.
    Result<CatalogTable> again = co_await read_catalog(database, name);
    if (!again) co_return std::move(again.error());
    if (again->sql_name.empty()) co_return created;
  }
  co_return Result<void>();
}

// A read that finds nothing tells whether the statements suit the table.
async<Result<void>> probe(sql::Database& database, TableShape shape, SentPolicy sent) {
  List params;
  params.push_back(id_list(database.dialect(), {}));
  params.push_back("[]");
  params.push_back(0);
  Result<sql::Rows> rows = co_await database.execute(
      make_statements(database.dialect(), shape, sent).read_all, std::move(params));
  if (rows) co_return Result<void>();
  if (rows.error().kind != ErrorKind::rejected) co_return std::move(rows.error());
  co_return Error(
      ErrorKind::config,
      "table " + shape.table + " is not an outbox that we can work with: " + rows.error().what,
      shape.foreign() ? "check the options that name its columns"
                      : "`drom outbox init` prints the table definition");
}

}  // namespace

async<Result<CatalogTable>> read_catalog(sql::Database& database, std::string table) {
  const Dialect dialect = database.dialect();
  CatalogTable out;
  std::string schema = "main";
  std::string name = table;
  const size_t dot = table.find('.');
  if (dot != std::string::npos) {
    schema = table.substr(0, dot);
    name = table.substr(dot + 1);
  }
  std::string text;
  List params;
  if (dialect == Dialect::postgres) {
    const bool is_quoted = table.find('"') != std::string::npos;
    const std::string exact =
        is_quoted ? table
                  : (dot == std::string::npos ? "" : quoted(dialect, schema) + ".") +
                        quoted(dialect, name);
    text =
        "SELECT coalesce(to_regclass($1::text), to_regclass($2::text))::text, a.attname::text, "
        "format_type(a.atttypid, NULL), a.attgenerated <> '' FROM pg_attribute AS a WHERE "
        "a.attrelid = coalesce(to_regclass($1::text), to_regclass($2::text)) AND a.attnum > 0 AND "
        "NOT a.attisdropped ORDER BY a.attnum";
    params = {exact, table};
  } else if (dialect == Dialect::mysql) {
    std::erase(name, '`');
    std::erase(schema, '`');
    text =
        "SELECT table_name, column_name, column_type, coalesce(generation_expression, '') <> '' "
        "FROM information_schema.columns WHERE table_schema = coalesce($1, database()) AND "
        "table_name = $2 ORDER BY ordinal_position";
    params = {dot == std::string::npos ? Value() : Value(schema), name};
  } else {
    std::erase(name, '"');
    text =
        "SELECT (SELECT m.name FROM sqlite_master AS m WHERE m.name = $1 COLLATE NOCASE), "
        "name, type, hidden IN (2, 3) FROM pragma_table_xinfo($1)";
    params = {name};
  }
  Result<sql::Rows> rows = co_await database.execute(std::move(text), std::move(params));
  if (!rows) co_return std::move(rows.error());
  for (const List& row : rows->rows) {
    if (out.sql_name.empty()) {
      out.sql_name = dialect == Dialect::postgres ? row[0].to_text() : quoted(dialect, name);
      if (dialect == Dialect::mysql && dot != std::string::npos)
        out.sql_name = quoted(dialect, schema) + "." + out.sql_name;
    }
    CatalogColumn column;
    column.name = row[1].to_text();
    column.type = row[2].to_text();
    column.kind = kind_of(dialect, column.type);
    column.generated = row[3] == Value(true) || row[3] == Value(1);
    out.columns.push_back(std::move(column));
  }
  co_return out;
}

Result<TableShape> resolve(Dialect dialect, TableShape shape, const CatalogTable& table) {
  shape.all_columns.clear();
  for (const CatalogColumn& column : table.columns)
    if (!column.generated) shape.all_columns.push_back(column.name);
  if (!shape.foreign()) return resolve_own(dialect, std::move(shape), table);
  if (table.sql_name.empty()) return no_table(shape.table);
  shape.sql_table = table.sql_name;
  Resolver resolver(dialect, table);
  resolver.take(shape.event_id, "text", "TEXT", "varchar(255)");
  resolver.take(shape.key, "text", "TEXT", "varchar(255)");
  resolver.take(shape.type, "text", "TEXT", "varchar(255)");
  resolver.take(shape.payload, "text", "TEXT", "longtext");
  resolver.take(shape.headers, "text", "TEXT", "longtext");
  resolver.take(shape.created, "timestamptz NOT NULL DEFAULT now()", "TEXT",
                "timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)");
  resolver.take(shape.available, "timestamptz", "TEXT", "timestamp(3) NULL DEFAULT NULL");
  resolver.take(shape.sent, "timestamptz", "TEXT", "datetime(3)");
  const std::string due = shape.due_values.empty() ? "due" : shape.due_values.front();
  resolver.take(shape.status, "text NOT NULL DEFAULT '" + due + "'",
                "TEXT NOT NULL DEFAULT '" + due + "'",
                "varchar(20) NOT NULL DEFAULT '" + due + "'");
  for (Column& column : shape.extras) resolver.take(column, "text", "TEXT", "longtext");
  if (std::optional<Error> error = resolver.error()) return std::move(*error);
  if (std::optional<Error> error = resolver.take_sequence(shape)) return std::move(*error);
  if (shape.status.kind == ColumnKind::integer || shape.status.kind == ColumnKind::boolean) {
    std::vector<std::string> values = shape.due_values;
    values.push_back(shape.sent_value);
    for (const std::string& value : values)
      if (shape.status.kind == ColumnKind::boolean ? value != "true" && value != "false"
                                                   : !Value(value).to_int())
        return Error(ErrorKind::config,
                     "'" + value + "' is no value of the column " + shape.status.name,
                     "dueValues and sentValue must suit the type of statusColumn");
  }
  return shape;
}

std::string archive_ddl(Dialect dialect, const CatalogTable& table) {
  std::string out = "CREATE TABLE IF NOT EXISTS " + archive_table(table.sql_name) + " (";
  for (const CatalogColumn& column : table.columns) {
    if (column.generated) continue;
    out += "\n  " + quoted(dialect, column.name) + " " + column.type +
           (dialect == Dialect::mysql ? " NULL," : ",");  // else its first timestamp fills itself
  }
  out += "\n  drom_archived_at ";
  switch (dialect) {
    case Dialect::postgres: out += "timestamptz NOT NULL DEFAULT now()"; break;
    case Dialect::mysql: out += "timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"; break;
    case Dialect::sqlite: out += "TEXT NOT NULL DEFAULT (" + time_now(dialect) + ")"; break;
  }
  return out + (dialect == Dialect::mysql
                    ? "\n) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n"
                    : "\n);\n");
}

async<Result<TableShape>> prepare_shape(sql::Database& database, TableShape shape, SentPolicy sent,
                                        bool create) {
  Result<CatalogTable> table = co_await read_catalog(database, shape.table);
  if (!table) co_return std::move(table.error());
  if (!shape.foreign()) {
    if (!table->sql_name.empty()) {  // names the column, where a failed statement cannot
      Result<TableShape> known = resolve(database.dialect(), shape, *table);
      if (!known) co_return known;
    }
    Result<void> prepared = co_await prepare_tables(database, shape.table, create);
    if (!prepared) co_return std::move(prepared.error());
    if (table->sql_name.empty()) {
      Result<CatalogTable> created = co_await read_catalog(database, shape.table);
      if (!created) co_return std::move(created.error());
      table = std::move(created);
    }
  }
  Result<TableShape> resolved = resolve(database.dialect(), std::move(shape), *table);
  if (!resolved) co_return resolved;
  if (resolved->foreign()) {
    Result<void> companions = co_await prepare_companions(database, create);
    if (!companions) co_return std::move(companions.error());
    Result<void> probed = co_await probe(database, *resolved, sent);
    if (!probed) co_return std::move(probed.error());
  }
  if (sent == SentPolicy::archive) {
    if (!resolved->foreign()) table->sql_name = resolved->sql_table;
    Result<void> archive = co_await prepare_archive(database, *table, create);
    if (!archive) co_return std::move(archive.error());
  }
  co_return resolved;
}

async<Error> explain(sql::Database& database, TableShape shape, SentPolicy sent, Error failure) {
  if (!tells_of_schema(failure)) co_return failure;
  Result<TableShape> again = co_await prepare_shape(database, std::move(shape), sent, false);
  if (!again && again.error().kind == ErrorKind::config) co_return std::move(again.error());
  co_return failure;
}

}  // namespace drom::outbox
