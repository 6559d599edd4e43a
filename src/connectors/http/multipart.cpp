#include "connectors/http/multipart.hpp"

#include <vector>

#include "connectors/http/http_text.hpp"

namespace drom::http {
namespace {

struct Part {
  std::string name;
  std::string file_name;     // empty: a field
  std::string content_type;  // empty: none stated
  Value content;             // null, text or bytes
};

// As browsers do it (HTML, 4.10.21.8): quotes and line breaks would end the name.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"')
      out += "%22";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (c != '\0')
      out += c;
  }
  return out + "\"";
}

std::string_view text_of(const Object& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? value->raw() : std::string_view();
}

Part make_part(std::string_view name, const Value& value) {
  Part out;
  out.name = name;
  const Object* object = value.as_object();
  const Value* content = object ? object->find("content") : nullptr;
  WireBody wire = to_wire_body(content ? *content : value);
  if (content) {
    out.file_name = text_of(*object, "fileName");
    if (out.file_name.empty()) out.file_name = name;
    out.content_type = text_of(*object, "contentType");
    if (out.content_type.empty()) out.content_type = wire.content_type;
  } else if (value.is_bytes()) {
    out.file_name = name;
    out.content_type = wire.content_type;
  } else if (!wire.content_type.starts_with("text/plain")) {
    out.content_type = wire.content_type;
  }
  out.content = std::move(wire.body);
  return out;
}

void append_part(std::string& out, const Part& part) {
  out.append("Content-Disposition: form-data; name=").append(quoted(part.name));
  if (!part.file_name.empty()) out.append("; filename=").append(quoted(part.file_name));
  out += "\r\n";
  if (!part.content_type.empty()) append_header(out, "Content-Type", Value(part.content_type));
  out.append("\r\n").append(part.content.raw()).append("\r\n");
}

// No part may hold it, or the receiver would see parts that nobody has sent.
std::string make_boundary(const std::vector<Part>& parts, Rng& rng) {
  while (true) {
    std::string boundary = "drom-" + rng.uuid();
    bool held = false;
    for (const Part& part : parts)
      held = held || part.content.raw().find(boundary) != std::string_view::npos;
    if (!held) return boundary;
  }
}

}  // namespace

MultipartBody write_multipart(const Value& body, std::string_view name, std::string_view file_name,
                              std::string_view content_type, Rng& rng) {
  std::vector<Part> parts;
  if (const Object* object = body.as_object()) {
    for (const auto& [key, value] : *object) {
      if (const List* list = value.as_list())
        for (const Value& element : *list) parts.push_back(make_part(key, element));
      else if (!value.is_null())
        parts.push_back(make_part(key, value));
    }
  } else {
    parts.push_back(make_part(name, body));
    Part& part = parts.back();
    if (!file_name.empty()) part.file_name = file_name;
    if (!content_type.empty()) part.content_type = content_type;
  }
  const std::string boundary = make_boundary(parts, rng);
  MultipartBody out;
  out.content_type = "multipart/form-data; boundary=" + boundary;
  for (const Part& part : parts) {
    out.body.append("--").append(boundary).append("\r\n");
    append_part(out.body, part);
  }
  out.body.append("--").append(boundary).append("--\r\n");
  return out;
}

}  // namespace drom::http
