#include "config/yaml_text.hpp"

#include <algorithm>

#include "config/utf8.hpp"
#include "config/yaml_tree.hpp"

namespace drom {
namespace {

using namespace std::string_view_literals;

constexpr auto npos = std::string_view::npos;

size_t find_control(std::string_view text) {
  const auto bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  };
  const auto found = std::find_if(text.begin(), text.end(), bad);
  return found == text.end() ? npos : static_cast<size_t>(found - text.begin());
}

// The last tab in the indentation of a line, up to and including the line of `byte`.
size_t tab_in_indentation(std::string_view text, size_t byte) {
  size_t found = npos;
  size_t begin = 0;
  while (begin <= byte && begin < text.size()) {
    const size_t first = text.find_first_not_of(" \t", begin);
    const size_t tab = text.find('\t', begin);
    if (first != npos && tab < first && text[first] != '\n' && text[first] != '\r' &&
        text[first] != '#')
      found = tab;
    const size_t end = text.find('\n', begin);
    if (end == npos) break;
    begin = end + 1;
  }
  return found;
}

struct Explanation {
  std::string_view message;  // what yaml-cpp says, its start
  std::string_view what;
  std::string_view hint;
};
constexpr Explanation kExplanations[] = {
    {"illegal map value", "a ':' where no value can start",
     "put texts that hold ': ' into quotes, and check the indentation"},
    {"illegal block entry", "a '- ' where no list item can start", "check the indentation"},
    {"illegal map key", "a name where none can start", "check the indentation"},
    {"end of map not found", "this does not belong to the map above", "check the indentation"},
    {"end of sequence not found", "this does not belong to the list above",
     "check the indentation; items start with '- '"},
    {"end of map flow not found", "a '{' is not closed",
     "add the missing '}', or put the text into quotes"},
    {"end of sequence flow not found", "a '[' is not closed",
     "add the missing ']', or put the text into quotes"},
    {"illegal EOF in scalar", "a quote is not closed",
     "add the missing quote at the end of the text"},
    {"illegal document indicator in scalar", "a quote is not closed",
     "add the missing quote at the end of the text"},
    {"unknown escape character", "a backslash and a letter that mean nothing in double quotes",
     "write two backslashes, or use single quotes"},
    {"unknown token", "a text cannot start with this sign", "put the text into quotes"},
    {"illegal tab when looking for indentation", "a tab in the indentation", "indent with spaces"},
    {"unexpected character in block scalar", "nothing may follow '|' or '>' on its line",
     "start the text on the next line"},
    {"unexpected end of block scalar", "nothing may follow '|' or '>' on its line",
     "start the text on the next line"},
};

}  // namespace

bool check_yaml_text(std::string_view text, YamlProblem& problem) {
  const auto wrong = [&](std::string code, size_t byte, std::string what, std::string hint) {
    problem = {std::move(code), byte, std::move(what), std::move(hint)};
    return false;
  };
  if (text.starts_with("\xFF\xFE"sv) || text.starts_with("\xFE\xFF"sv) ||
      text.starts_with("\0\0\xFE\xFF"sv))
    return wrong("E0102", 0, "the file is UTF-16 or UTF-32", "save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF"sv))
    return wrong("E0102", 0, "the file starts with a byte order mark",
                 "save it as UTF-8 without byte order mark (BOM)");
  if (text.size() > kYamlBytesMax)
    return wrong("E0107", 0, "the file has more than 1 MiB", "split it into several files");
  const size_t invalid = find_invalid_utf8(text);
  const size_t control = find_control(text);
  if (control < invalid) {
    if (text[control] == '\0')
      return wrong("E0102", control, "a NUL byte",
                   "remove it; if there are many, the file is UTF-16: save it as UTF-8");
    return wrong("E0102", control, "a control character",
                 "remove it; in double quotes it can be written as \\x1B");
  }
  if (invalid != npos)
    return wrong("E0102", invalid, "bytes that are no UTF-8", "save the file as UTF-8");
  return true;
}

YamlProblem explain_yaml_error(std::string_view text, size_t byte, const std::string& message) {
  const size_t tab = tab_in_indentation(text, std::min(byte, text.size()));
  if (tab != npos) return {"E0103", tab, "a tab in the indentation", "indent with spaces"};
  if (message.starts_with("the referenced anchor is not defined"))
    return {"E0104", byte, std::string(kAnchorWhat), std::string(kAnchorHint)};
  if (message.starts_with("bad file"))  // its own limit of depth
    return {"E0107", byte, "the file is nested too deep",
            "move inner steps into routes of their own"};
  for (const Explanation& known : kExplanations)
    if (message.starts_with(known.message))
      return {"E0101", byte, "no well-formed YAML: " + std::string(known.what),
              std::string(known.hint)};
  return {"E0101", byte, "no well-formed YAML: " + message, ""};
}

}  // namespace drom
