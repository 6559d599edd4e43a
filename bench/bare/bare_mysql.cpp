#include <mariadb/mysql.h>

#include <map>

#include "bare/bare_database.hpp"
#include "sql/mysql/mysql_database.hpp"
#include "sql/mysql/mysql_text.hpp"

namespace drom::bench {
namespace {

// Columns are fetched into a buffer of this size each, without asking for their length first.
constexpr size_t kCellMax = 4096;

class BareMysql final : public BareDatabase {
 public:
  explicit BareMysql(const std::string& url) : db_(mysql_init(nullptr)) {
    sql::MysqlOptions options;
    check(sql::read_mysql_url(url, options).ok(), "url", url);
    mysql_options(db_, MYSQL_INIT_COMMAND,
                  "SET SESSION time_zone = '+00:00', tx_isolation = 'READ-COMMITTED'");
    check(mysql_real_connect(db_, options.host.c_str(), options.user.c_str(),
                             options.password.c_str(), options.database.c_str(), options.port,
                             nullptr, CLIENT_MULTI_STATEMENTS) != nullptr,
          "connect", mysql_error(db_));
  }
  ~BareMysql() override {
    for (auto& [sql, statement] : statements_) mysql_stmt_close(statement.handle);
    mysql_close(db_);
  }

  sql::Dialect dialect() const override { return sql::Dialect::mysql; }

  void script(const std::string& text) override {
    check(mysql_real_query(db_, text.data(), text.size()) == 0, text, mysql_error(db_));
    int more = 0;
    while (more == 0) {
      mysql_free_result(mysql_store_result(db_));
      check(mysql_errno(db_) == 0, text, mysql_error(db_));
      more = mysql_next_result(db_);
    }
    check(more < 0, text, mysql_error(db_));
  }

  std::vector<int64_t> run(const std::vector<Command>& commands, bool together) override {
    std::vector<int64_t> out;
    if (together) script("START TRANSACTION");
    for (const Command& command : commands) out = run(prepared(command.sql), command);
    if (together) script("COMMIT");
    return out;
  }

 private:
  struct Statement {
    MYSQL_STMT* handle = nullptr;
    std::vector<size_t> parameters;
    unsigned columns = 0;
    std::vector<MYSQL_BIND> results;
    std::vector<std::string> cells;
    int64_t first = 0;
    bool fresh = true;
  };

  Statement& prepared(const std::string& sql) {
    Statement& out = statements_[sql];
    if (out.handle) return out;
    Result<sql::MysqlText> text = sql::translate_parameters(sql);
    check(text.ok(), sql);
    out.parameters = text->parameters;
    out.handle = mysql_stmt_init(db_);
    check(mysql_stmt_prepare(out.handle, text->sql.data(), text->sql.size()) == 0, sql,
          mysql_stmt_error(out.handle));
    out.columns = mysql_stmt_field_count(out.handle);
    out.results.resize(out.columns);
    out.cells.resize(out.columns, std::string(kCellMax, '\0'));
    for (unsigned c = 0; c < out.columns; ++c) {
      MYSQL_BIND& bind = out.results[c];
      bind = MYSQL_BIND{};
      bind.buffer_type = c == 0 ? MYSQL_TYPE_LONGLONG : MYSQL_TYPE_STRING;
      bind.buffer = c == 0 ? static_cast<void*>(&out.first) : out.cells[c].data();
      bind.buffer_length = c == 0 ? sizeof out.first : kCellMax;
    }
    return out;
  }

  static std::vector<int64_t> run(Statement& statement, const Command& command) {
    MYSQL_STMT* const handle = statement.handle;
    const auto fine = [&](bool ok) { check(ok, command.sql, mysql_stmt_error(handle)); };
    std::vector<MYSQL_BIND> binds;
    for (const size_t i : statement.parameters) {
      MYSQL_BIND bind{};
      if (const auto* number = std::get_if<int64_t>(&command.params[i])) {
        bind.buffer_type = MYSQL_TYPE_LONGLONG;
        bind.buffer = const_cast<int64_t*>(number);
      } else {
        const auto& text = std::get<std::string>(command.params[i]);
        bind.buffer_type = MYSQL_TYPE_STRING;
        bind.buffer = const_cast<char*>(text.data());
        bind.buffer_length = bind.length_value = text.size();
      }
      binds.push_back(bind);
    }
    if (!binds.empty()) fine(mysql_stmt_bind_param(handle, binds.data()) == 0);
    fine(mysql_stmt_execute(handle) == 0);
    std::vector<int64_t> out;
    if (statement.columns == 0) return out;
    fine(mysql_stmt_bind_result(handle, statement.results.data()) == 0);
    fine(mysql_stmt_store_result(handle) == 0);
    int code = 0;
    while ((code = mysql_stmt_fetch(handle)) == 0 || code == MYSQL_DATA_TRUNCATED)
      out.push_back(statement.first);
    fine(code == MYSQL_NO_DATA);
    mysql_stmt_free_result(handle);
    return out;
  }

  MYSQL* db_;
  std::map<std::string, Statement> statements_;
};

}  // namespace

std::unique_ptr<BareDatabase> open_bare_mysql(const std::string& url) {
  return std::make_unique<BareMysql>(url);
}

}  // namespace drom::bench
