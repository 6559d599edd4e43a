#include "drom/spi/route_specs.hpp"

#include "spi/step_support.hpp"

namespace drom {
namespace {

OptionSpec text(std::string name, std::string doc, std::string fallback = {}) {
  return option(std::move(name), OptionType::text, std::move(doc), std::move(fallback));
}

OptionSpec flag(std::string name, std::string doc, std::string fallback = {}) {
  return option(std::move(name), OptionType::boolean, std::move(doc), std::move(fallback));
}

OptionSpec one_of(std::string name, std::string doc, std::string fallback,
                  std::vector<std::string> values) {
  OptionSpec out = text(std::move(name), std::move(doc), std::move(fallback));
  out.type = OptionType::enumeration;
  out.values = std::move(values);
  return out;
}

OptionSpec required(OptionSpec spec) {
  spec.required = true;
  return spec;
}

OptionSpec example(OptionSpec spec, std::string text) {
  spec.example = std::move(text);
  return spec;
}

ConfigSpec clause(std::string name, std::string doc, std::vector<OptionSpec> options,
                  std::vector<ConfigSpec> clauses = {}) {
  ConfigSpec out;
  out.name = std::move(name);
  out.doc = std::move(doc);
  out.options = std::move(options);
  out.clauses = std::move(clauses);
  out.repeat = true;
  return out;
}

ConfigSpec pairs(std::string name, std::string doc, std::string key_doc) {
  return clause(std::move(name), std::move(doc),
                {required(text("key", std::move(key_doc))), text("value", "The value.")});
}

ConfigSpec values_of(std::string name) {
  ConfigSpec out = clause(std::move(name), "A value that is allowed; others are not.",
                          {required(text("value", "The value."))});
  out.scalar = "value";
  return out;
}

// What may stand at the whole service and at one of its operations, where it wins.
std::vector<OptionSpec> shared_options(std::vector<OptionSpec> own) {
  for (OptionSpec& spec : std::vector<OptionSpec>{
           text("path", "The path; {names} become headers. Added to that of the service."),
           text("consumes", "Media types of request bodies; others are answered with 415."),
           text("produces",
                "Media types of answers; who accepts none of them is answered with 406."),
           one_of("bindingMode", "json reads request bodies as JSON before the route sees them.",
                  "", {"off", "json"}),
           flag("enableCORS", "Lets browsers call from other origins."),
           flag("clientRequestValidation",
                "Answers 400 to requests that lack a required parameter or body, or whose "
                "parameter is none of the allowed values."),
           flag("apiDocs", "False leaves it out of the OpenAPI document."),
       })
    own.push_back(std::move(spec));
  return own;
}

ConfigSpec param_spec() {
  return clause(
      "param", "A parameter of the operation, for the OpenAPI document and for validation.",
      {
          required(example(text("name", "Its name; of a body any."), "id")),
          one_of("type", "Where it stands.", "path",
                 {"path", "query", "header", "body", "formData"}),
          text("description", "What it is, for people."),
          flag("required", "Whether a request must have it.", "true"),
          text("defaultValue", "The header's value when a query or header parameter is missing."),
          example(text("dataType",
                       "string, integer, number, boolean, array, file, or the name of "
                       "a type.",
                       "string"),
                  "integer"),
          example(text("dataFormat", "A closer form, such as int64 or date-time."), "date-time"),
          text("arrayType", "The type of the elements of an array.", "string"),
          one_of("collectionFormat", "How an array is written in one text.", "csv",
                 {"csv", "ssv", "tsv", "pipes", "multi"}),
      },
      {values_of("allowableValues"),
       pairs("examples", "An example.", "Its media type; empty or `example` for any.")});
}

ConfigSpec response_spec() {
  ConfigSpec header = clause(
      "header", "A header of the answer.",
      {required(text("name", "Its name.")), text("description", "What it says, for people."),
       text("dataType", "Its type.", "string"), text("dataFormat", "A closer form of the type."),
       text("arrayType", "The type of the elements of an array.", "string"),
       one_of("collectionFormat", "How an array is written in one text.", "csv",
              {"csv", "ssv", "tsv", "pipes", "multi"})},
      {values_of("allowableValues")});
  return clause("responseMessage", "An answer of the operation, for the OpenAPI document.",
                {text("code", "The status, or `default`.", "200"),
                 text("message", "What it means, for people.", "success"),
                 text("responseModel", "The name of the type of its body.")},
                {header, pairs("examples", "An example.", "Its media type, or any name.")});
}

ConfigSpec security_spec(std::string name) {
  return clause(std::move(name),
                "A security scheme that callers need, for the OpenAPI document; checks nothing.",
                {required(text("key", "The key of a scheme of securityDefinitions.")),
                 option("scopes", OptionType::list, "The scopes that are needed.")});
}

ConfigSpec security_definitions_spec() {
  const OptionSpec key = required(text("key", "The name of the scheme."));
  const OptionSpec description = text("description", "What it is, for people.");
  ConfigSpec out = clause(
      "securityDefinitions",
      "The security schemes of the service, for the OpenAPI document; they check nothing.", {},
      {clause("apiKey", "A key in a header, the query or a cookie.",
              {key, description, required(text("name", "The name of the header or parameter.")),
               flag("inHeader", "It is a header.", "false"),
               flag("inQuery", "It is a query parameter.", "false"),
               flag("inCookie", "It is a cookie.", "false")}),
       clause("basicAuth", "User and password.", {key, description}),
       clause("bearerToken", "A token in the Authorization header.",
              {key, description, text("format", "The form of the token, such as JWT.")}),
       clause("oauth2", "OAuth 2.",
              {key, description,
               one_of("flow", "The flow.", "",
                      {"implicit", "password", "application", "clientCredentials", "accessCode",
                       "authorizationCode"}),
               text("authorizationUrl", "Where a person logs in."),
               text("tokenUrl", "Where tokens come from."),
               text("refreshUrl", "Where tokens are renewed.")},
              {pairs("scopes", "A scope.", "Its name.")}),
       clause("openIdConnect", "OpenID Connect.",
              {key, description, required(text("url", "Its discovery document."))}),
       clause("mutualTLS", "Certificates of clients.", {key, description})});
  out.repeat = false;
  return out;
}

ConfigSpec verb_spec(const std::string& name) {
  ConfigSpec to;
  to.name = "to";
  to.doc = "The endpoint that answers, mostly `direct:name`.";
  to.options = {required(example(text("uri", "The endpoint."), "direct:orders"))};
  to.scalar = "uri";
  to.parameters = true;
  ConfigSpec out =
      clause(name, "An operation: " + name + " of a path.",
             shared_options({
                 text("routeId", "The id of the route that serves the operation."),
                 flag("deprecated", "Marks it so in the OpenAPI document.", "false"),
                 text("type", "The name of the type of the request body; [] behind it: a list."),
                 text("outType", "The name of the type of the answer; [] behind it: a list."),
             }),
             {to, param_spec(), response_spec(), security_spec("security")});
  out.steps = StepsRule::optional;
  return out;
}

ConfigSpec contract_spec() {
  ConfigSpec out = clause(
      "openApi",
      "The contract first: serves the operations of an OpenAPI 3 document in JSON, each by the "
      "route that starts from `direct:` and its operationId.",
      {required(example(text("specification", "The file, from the folder of the route file."),
                        "orders-api.json")),
       one_of("missingOperation",
              "What an operation without a route is: an error at load time, or not served.", "fail",
              {"fail", "ignore"}),
       text("apiContextPath", "Serves the document below this path.")});
  out.repeat = false;
  return out;
}

}  // namespace

const std::vector<std::string>& rest_verbs() {
  static const std::vector<std::string> kVerbs = {"get", "post", "put", "delete", "patch", "head"};
  return kVerbs;
}

ConfigSpec rest_spec() {
  ConfigSpec out;
  out.name = "rest";
  out.title = "Rest";
  out.doc =
      "A service over HTTP: operations of paths, each sent to an endpoint. The server is that of "
      "platform-http; the message that the endpoint leaves behind is the answer. "
      "`restConfiguration` "
      "says what all services share, and where their OpenAPI document is served.";
  out.options = shared_options({text("tag", "The tag of its operations in the OpenAPI document.")});
  for (const std::string& verb : rest_verbs()) out.clauses.push_back(verb_spec(verb));
  out.clauses.push_back(contract_spec());
  out.clauses.push_back(security_definitions_spec());
  out.clauses.push_back(security_spec("securityRequirements"));
  out.example =
      "- rest:\n"
      "    path: /orders\n"
      "    get:\n"
      "      - path: /{id}\n"
      "        produces: application/json\n"
      "        param:\n"
      "          - name: id\n"
      "            dataType: integer\n"
      "        to: direct:order\n";
  return out;
}

ConfigSpec rest_configuration_spec() {
  ConfigSpec out;
  out.name = "restConfiguration";
  out.title = "Rest Configuration";
  out.doc =
      "What all `rest` services share. Stands once. Where the server listens is set by "
      "drom.http.host and drom.http.port.";
  out.options = {
      one_of("component", "The component that serves.", "platform-http", {"platform-http"}),
      one_of("scheme", "The scheme of the server in the OpenAPI document.", "http",
             {"http", "https"}),
      text("host",
           "The name of the server in the OpenAPI document. Where it listens is drom.http.host."),
      option("port", OptionType::integer,
             "The port of the server in the OpenAPI document. Where it listens is drom.http.port."),
      example(text("contextPath", "Stands before the paths of all services."), "/api"),
      example(text("apiContextPath",
                   "Serves the OpenAPI document below this path (and contextPath): as JSON, as "
                   "YAML at /openapi.yaml under it or when Accept asks for it."),
              "/openapi"),
      text("apiContextRouteId", "The id of the route that serves the OpenAPI document.",
           "rest-openapi"),
      one_of("bindingMode", "json reads request bodies as JSON before the route sees them.", "off",
             {"off", "json"}),
      flag("enableCORS", "Lets browsers call from other origins.", "false"),
      flag("clientRequestValidation",
           "Answers 400 to requests that lack a required parameter or body, or whose parameter is "
           "none of the allowed values.",
           "false"),
  };
  out.clauses = {
      pairs("apiProperty", "Something about the service for the OpenAPI document.",
            "api.title, api.version, api.description, api.termsOfService, api.contact.name, "
            "api.contact.email, api.contact.url, api.license.name or api.license.url."),
      pairs("corsHeaders", "A header of enableCORS with another value than its default.",
            "Access-Control-Allow-Origin, -Methods, -Headers or -Credentials, "
            "Access-Control-Expose-Headers, or Access-Control-Max-Age."),
  };
  out.example =
      "- restConfiguration:\n"
      "    contextPath: /api\n"
      "    apiContextPath: /openapi\n"
      "    apiProperty:\n"
      "      - key: api.title\n"
      "        value: Orders\n"
      "- rest:\n"
      "    path: /orders\n"
      "    get:\n"
      "      - to: direct:orders\n"
      "- from:\n"
      "    uri: direct:orders\n"
      "    steps:\n"
      "      - setBody:\n"
      "          constant: none\n";
  return out;
}

}  // namespace drom
