#include "connectors/sql/sql_text.hpp"

#include "drom/base/json.hpp"

namespace drom::sqlc {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

class Parser {
 public:
  Parser(std::string_view text, const SqlTextOptions& options) : text_(text), options_(options) {}

  Result<SqlText> parse() {
    while (at_ < text_.size()) {
      if (skip_quoted()) continue;
      if (options_.named && named_marker()) {
        Result<void> parsed = parse_named();
        if (!parsed) return std::move(parsed.error());
        continue;
      }
      if (is_position()) {
        ++at_;
        add(SqlParameter());
        continue;
      }
      if (text_[at_] == '$' && at_ + 1 < text_.size() && text_[at_ + 1] >= '0' &&
          text_[at_ + 1] <= '9')
        return problem("'$' with a number is ours", "write :#name, or # for values by position");
      piece_ += text_[at_++];
    }
    out_.pieces.push_back(std::move(piece_));
    fix();
    return std::move(out_);
  }

 private:
  Error problem(std::string what, std::string hint) const {
    return Error(ErrorKind::config,
                 "SQL at character " + std::to_string(at_ + 1) + ": " + std::move(what),
                 std::move(hint));
  }

  void copy_until(size_t end) {
    end = std::min(end, text_.size());
    piece_ += text_.substr(at_, end - at_);
    at_ = end;
  }
  // The position after the next `mark`, or the end.
  size_t after(std::string_view mark, size_t from) const {
    const size_t found = text_.find(mark, from);
    return found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  // A doubled quote inside is two quoted texts side by side, which comes to the same.
  bool skip_quoted() {
    const char c = text_[at_];
    const std::string_view rest = text_.substr(at_);
    if (c == '\'' || (c == '"' && options_.backslash_escapes)) {
      const bool escapes = options_.backslash_escapes ||
                           (at_ > 0 && (text_[at_ - 1] == 'E' || text_[at_ - 1] == 'e') &&
                            (at_ == 1 || !is_word(text_[at_ - 2])));
      size_t end = at_ + 1;
      while (end < text_.size() && text_[end] != c) end += escapes && text_[end] == '\\' ? 2 : 1;
      copy_until(end + 1);
      return true;
    }
    if (c == '"' || c == '`') {
      copy_until(after(std::string_view(&c, 1), at_ + 1));
      return true;
    }
    if (rest.starts_with("--")) {
      copy_until(after("\n", at_));
      return true;
    }
    if (rest.starts_with("/*")) {
      copy_until(comment_end());
      return true;
    }
    if (c == '$' && (at_ == 0 || !is_word(text_[at_ - 1]))) {  // PostgreSQL: $tag$ ... $tag$
      size_t end = at_ + 1;
      if (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') return false;
      while (end < text_.size() && is_word(text_[end])) ++end;
      if (end >= text_.size() || text_[end] != '$') return false;
      copy_until(after(text_.substr(at_, end + 1 - at_), end + 1));
      return true;
    }
    return false;
  }

  size_t comment_end() const {  // they nest in PostgreSQL
    int depth = 0;
    for (size_t i = at_; i + 1 < text_.size(); ++i) {
      const std::string_view two = text_.substr(i, 2);
      if (two == "/*") ++depth;
      if (two == "*/") --depth;
      if (two == "/*" || two == "*/") ++i;
      if (depth == 0) return i + 1;
    }
    return text_.size();
  }

  // `:#` or `:?` before a name or an expression; `::` is a cast.
  bool named_marker() const {
    if (text_[at_] != ':' || at_ + 2 >= text_.size()) return false;
    if (at_ > 0 && text_[at_ - 1] == ':') return false;
    if (text_[at_ + 1] != '#' && text_[at_ + 1] != '?') return false;
    return is_word(text_[at_ + 2]) || text_.substr(at_ + 2).starts_with("${");
  }

  // PostgreSQL has operators that begin with '#'; a position stands alone.
  bool is_position() const {
    if (text_[at_] != options_.placeholder) return false;
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : ' ';
    const char before = at_ > 0 ? text_[at_ - 1] : ' ';
    return !is_word(next) && next != '>' && next != '-' && next != '#' && next != '=' &&
           before != '#' && before != ':';
  }

  Result<void> parse_named() {
    at_ += 2;
    SqlParameter parameter;
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("in:") && rest.size() > 3 &&
        (is_word(rest[3]) || rest.substr(3).starts_with("${"))) {
      parameter.list = true;
      at_ += 3;
    }
    if (text_.substr(at_).starts_with("${")) {
      Result<void> parsed = parse_expression(parameter);
      if (!parsed) return parsed;
    } else {
      const size_t start = at_;
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
      if (at_ == start)
        return problem("a parameter name is missing", "write :#name or :#${expression}");
      parameter.kind = SqlParameter::Kind::name;
      parameter.name = text_.substr(start, at_ - start);
    }
    add(std::move(parameter));
    return {};
  }

  Result<void> parse_expression(SqlParameter& parameter) {
    size_t end = at_ + 2;
    for (int depth = 1; end < text_.size() && depth > 0; ++end) {
      if (text_[end] == '{') ++depth;
      if (text_[end] == '}') --depth;
      if (depth == 0) break;
    }
    if (end >= text_.size()) return problem("'${' is not closed", "add the missing '}'");
    parameter.kind = SqlParameter::Kind::expression;
    parameter.name = text_.substr(at_, end + 1 - at_);
    ExpressionError failure;
    parameter.simple = compile_expression("simple", parameter.name, ExpressionUse::value, failure);
    if (!parameter.simple) {
      at_ += failure.offset;
      return problem(failure.what, failure.hint);
    }
    at_ = end + 1;
    return {};
  }

  void add(SqlParameter parameter) {
    out_.pieces.push_back(std::exchange(piece_, {}));
    out_.parameters.push_back(std::move(parameter));
  }

  void fix() {
    for (const SqlParameter& parameter : out_.parameters)
      if (parameter.list) return;
    for (size_t i = 0; i < out_.pieces.size(); ++i) {
      if (i > 0) out_.fixed += '$' + std::to_string(i);
      out_.fixed += out_.pieces[i];
    }
  }

  std::string_view text_;
  SqlTextOptions options_;
  size_t at_ = 0;
  std::string piece_;
  SqlText out_;
};

// Documents are bound as their JSON text.
Value bindable(Value value) {
  if (value.is_list() || value.is_object()) return Value(to_json(value));
  return value;
}

Result<Value> named(const std::string& name, const SqlInput& input) {
  if (const Object* object = input.body.as_object())
    if (const Value* value = object->find(name)) return *value;
  if (const Value* value = input.exchange.message.headers.find(name)) return *value;
  if (const Value* value = input.exchange.variables.find(name)) return *value;
  return Error(ErrorKind::data,
               "no value for the SQL parameter '" + name + "' in body, headers or variables",
               input.body.is_object() ? "check the name, or use an expression like :#${header.name}"
                                      : "a text body has no fields: unmarshal it, or use :#${...}");
}

// By position: the elements of a list, or the body itself as the only value.
Result<Value> positioned(size_t index, const SqlInput& input) {
  if (const List* list = input.body.as_list()) {
    if (index < list->size()) return (*list)[index];
    return Error(ErrorKind::data, "the SQL statement wants more values than the " +
                                      std::to_string(list->size()) + " of the body");
  }
  if (index == 0 && !input.body.is_object()) return input.body;
  return Error(ErrorKind::data, "values by position need a list as the body",
               "use names (:#name) for an object");
}

List elements(const Value& value, char separator) {
  if (const List* list = value.as_list()) return *list;
  List out;
  if (!value.is_text()) {
    if (!value.is_null()) out.push_back(value);
    return out;
  }
  std::string_view rest = value.raw();
  while (true) {
    const size_t end = rest.find(separator);
    out.emplace_back(rest.substr(0, end));
    if (end == std::string_view::npos) return out;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace

Result<SqlText> parse_sql(std::string_view text, const SqlTextOptions& options) {
  return Parser(text, options).parse();
}

Result<sql::Command> bind_sql(const SqlText& text, const SqlInput& input) {
  sql::Command out;
  out.params.reserve(text.parameters.size());
  const bool fixed = !text.fixed.empty() || text.parameters.empty();
  if (fixed)
    out.sql = text.parameters.empty() ? text.pieces.front() : text.fixed;
  else
    out.sql = text.pieces.front();
  size_t position = 0;
  for (size_t i = 0; i < text.parameters.size(); ++i) {
    const SqlParameter& parameter = text.parameters[i];
    Result<Value> value = parameter.kind == SqlParameter::Kind::position
                              ? positioned(position++, input)
                          : parameter.kind == SqlParameter::Kind::name
                              ? named(parameter.name, input)
                              : parameter.simple->evaluate(input.exchange, input.scope);
    if (!value) return std::move(value.error());
    List values;
    if (parameter.list)
      values = elements(*value, input.separator);
    else
      values.push_back(std::move(*value));
    if (parameter.list && values.empty()) values.emplace_back();  // IN (NULL) matches nothing
    for (size_t k = 0; k < values.size(); ++k) {
      out.params.push_back(bindable(std::move(values[k])));
      if (!fixed) out.sql += (k ? ", $" : "$") + std::to_string(out.params.size());
    }
    if (!fixed) out.sql += text.pieces[i + 1];
  }
  return out;
}

}  // namespace drom::sqlc
