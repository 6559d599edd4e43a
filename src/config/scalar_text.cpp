#include "config/scalar_text.hpp"

#include <algorithm>
#include <charconv>

#include "config/utf8.hpp"

namespace drom {
namespace {

class Reader {
 public:
  Reader(std::string_view source, size_t at) : source_(source), at_(at) {}

  ScalarText read() {
    if (at_ < source_.size()) {
      switch (source_[at_]) {
        case '"':
          double_quoted();
          out_.closed = at_ < source_.size();
          break;
        case '\'':
          single_quoted();
          out_.closed = at_ < source_.size();
          break;
        case '|': block(false); break;
        case '>': block(true); break;
        default: plain(); break;
      }
    }
    out_.bytes.push_back(std::min(at_, source_.size()));
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void put(char c, size_t byte) {
    out_.value += c;
    out_.bytes.push_back(byte);
  }
  void trim_blanks() {
    while (!out_.value.empty() && (out_.value.back() == ' ' || out_.value.back() == '\t')) {
      out_.value.pop_back();
      out_.bytes.pop_back();
    }
  }
  // At a line end inside a quoted or plain scalar: one break is a space, more are one less breaks.
  void fold() {
    trim_blanks();
    const size_t start = at_;
    size_t breaks = 0;
    while (at_ < source_.size() &&
           (std::string_view(" \t\r\n").find(source_[at_]) != std::string_view::npos))
      breaks += source_[at_++] == '\n' ? 1 : 0;
    if (breaks == 1) put(' ', start);
    for (size_t i = 1; i < breaks; ++i) put('\n', start);
  }
  bool at_line_end() const { return peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }

  void single_quoted() {
    ++at_;
    while (at_ < source_.size()) {
      if (at_line_end()) {
        fold();
      } else if (peek() == '\'') {
        if (peek(1) != '\'') return;
        put('\'', at_);
        at_ += 2;
      } else {
        put(peek(), at_);
        ++at_;
      }
    }
  }

  void double_quoted() {
    ++at_;
    while (at_ < source_.size() && peek() != '"') {
      if (at_line_end()) {
        fold();
      } else if (peek() == '\\') {
        escape();
      } else {
        put(peek(), at_);
        ++at_;
      }
    }
  }

  void escape() {
    constexpr std::string_view kLetters = "0abtnvfre";
    constexpr std::string_view kValues("\0\a\b\t\n\v\f\r\x1b", 9);
    const size_t start = at_;
    const char letter = peek(1);
    at_ += 2;
    const size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
    if (digits > 0) {
      uint32_t code = 0;
      const std::string_view hex = source_.substr(std::min(at_, source_.size()), digits);
      std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      at_ += hex.size();
      std::string bytes;
      append_utf8(bytes, code);
      for (const char c : bytes) put(c, start);
    } else if (letter == '\n' || letter == '\r') {
      // An escaped line end joins the lines.
      while (at_ < source_.size() &&
             std::string_view(" \t\r\n").find(source_[at_]) != std::string_view::npos)
        ++at_;
    } else if (const size_t known = kLetters.find(letter); known != std::string_view::npos) {
      put(kValues[known], start);
    } else {
      put(letter, start);
    }
  }

  void block(bool folded) {
    at_ = std::min(source_.find('\n', at_), source_.size());
    size_t indentation = 0;
    bool first = true;
    while (at_ < source_.size()) {
      const size_t begin = at_ + 1;
      const size_t end = std::min(source_.find('\n', begin), source_.size());
      if (begin >= source_.size()) break;
      std::string_view line = source_.substr(begin, end - begin);
      if (line.ends_with('\r')) line.remove_suffix(1);
      const size_t spaces = std::min(line.find_first_not_of(' '), line.size());
      const bool blank = spaces == line.size();
      if (first && !blank) {
        indentation = spaces;
        first = false;
        if (indentation == 0) break;
      }
      if (!blank && spaces < indentation) break;
      for (size_t i = std::min(indentation, spaces); i < line.size(); ++i) put(line[i], begin + i);
      put(folded ? ' ' : '\n', end);
      at_ = end;
    }
  }

  // Reads too much rather than too little: the caller looks for a text in it.
  void plain() {
    constexpr size_t kMost = 64 * 1024;
    const size_t end = std::min(source_.size(), at_ + kMost);
    while (at_ < end) {
      if (at_line_end()) {
        fold();
      } else {
        put(peek(), at_);
        ++at_;
      }
    }
  }

  std::string_view source_;
  size_t at_;
  ScalarText out_;
};

}  // namespace

ScalarText read_scalar_text(std::string_view source, size_t at) {
  return Reader(source, at).read();
}

}  // namespace drom
