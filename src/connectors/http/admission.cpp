#include "connectors/http/admission.hpp"

#include "connectors/http/answer_stream.hpp"
#include "connectors/http/content_coding.hpp"
#include "connectors/http/cors.hpp"
#include "connectors/http/negotiation.hpp"

namespace drom::http {
namespace {

constexpr std::string_view kRetrySoon = "Retry-After: 1\r\n";

bool is_preflight(const Request& request, const Route& route) {
  return request.method == Method::options && route.cors.enabled &&
         !request.headers.text("Origin").empty() &&
         request.headers.find("Access-Control-Request-Method");
}

std::string allow_line(const MethodSet& methods) { return "Allow: " + methods.text() + "\r\n"; }

std::optional<Verdict> judge(const Request& request, const Route& route) {
  if (!route.sink) return Verdict{503, "the route is stopping", std::string(kRetrySoon)};
  if (!negotiate(request.headers.text("Accept"), route.produces))
    return Verdict{406, "the route cannot answer in an accepted media type", {}};
  if (request.has_body && !route.consumes.empty() &&
      !media_type_matches(route.consumes, request.headers.text("Content-Type")))
    return Verdict{415, "the route does not take this media type", {}};
  return std::nullopt;
}

Verdict unknown_coding() {
  return {415, "the content coding is not known",
          "Accept-Encoding: " + std::string(accepted_codings()) + "\r\n"};
}

// Empty: none.
std::string codings_of(const Request& request) {
  std::string codings(request.headers.text("Content-Encoding"));
  if (iequals(codings, "identity")) codings.clear();
  return codings;
}

DecodeLimits limits_of(uint64_t bytes_max) {
  DecodeLimits limits;
  limits.bytes_max = bytes_max;
  return limits;
}

}  // namespace

Admission admit(const Request& request, const Router& router) {
  Admission out;
  if (request.method == Method::unknown) {
    out.verdict = Verdict{501, "the method is not supported", {}};
    return out;
  }
  if (request.target == "*") {
    out.verdict = Verdict{204, {}, allow_line(MethodSet::all())};
    return out;
  }
  Router::Match match = router.find(request.path, request.method);
  out.route = std::move(match.route);
  out.parameters = std::move(match.parameters);
  if (match.answer == Router::Answer::bad_path) {
    out.verdict = Verdict{400, "the path has a bad escape or a dot segment", {}};
  } else if (match.answer == Router::Answer::not_found) {
    out.verdict = Verdict{404, "no route has this path", {}};
  } else if (is_preflight(request, *out.route)) {
    out.verdict = Verdict{204, {}, preflight_lines(out.route->cors)};
  } else if (match.answer == Router::Answer::method_not_allowed) {
    match.allowed.add(Method::options);
    const bool asks = request.method == Method::options;
    out.verdict = Verdict{asks ? 204 : 405, asks ? "" : "the method is not allowed here",
                          allow_line(match.allowed)};
  } else {
    out.verdict = judge(request, *out.route);
  }
  return out;
}

std::optional<Verdict> unpack_body(Request& request, uint64_t bytes_max) {
  const std::string codings = codings_of(request);
  if (codings.empty() || request.body.empty()) return std::nullopt;
  std::string plain;
  switch (decode_content(codings, request.body, limits_of(bytes_max), plain)) {
    case Decoded::ok: break;
    case Decoded::too_large: return Verdict{413, "the decoded body is too large", {}};
    case Decoded::unknown: return unknown_coding();
    case Decoded::damaged:
      return Verdict{400, "the body is not what its Content-Encoding says", {}};
  }
  request.body = std::move(plain);
  request.headers.erase("Content-Encoding");
  return std::nullopt;
}

std::optional<Verdict> unpack_stream(Request& request, uint64_t bytes_max) {
  const std::string codings = codings_of(request);
  if (codings.empty()) return std::nullopt;
  auto plain =
      std::make_shared<DecodedStream>(std::move(request.stream), codings, limits_of(bytes_max));
  if (!plain->known()) return unknown_coding();
  request.stream = std::move(plain);
  request.headers.erase("Content-Encoding");
  return std::nullopt;
}

}  // namespace drom::http
