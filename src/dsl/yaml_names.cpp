#include "dsl/yaml_names.hpp"

#include <algorithm>

namespace drom {
namespace {

// Camel 4.22.
constexpr std::string_view kSteps[] = {"a2aSubTask",
                                       "aggregate",
                                       "bean",
                                       "choice",
                                       "circuitBreaker",
                                       "claimCheck",
                                       "convertBodyTo",
                                       "convertHeaderTo",
                                       "convertVariableTo",
                                       "delay",
                                       "doTry",
                                       "dynamicRouter",
                                       "enrich",
                                       "filter",
                                       "idempotentConsumer",
                                       "kamelet",
                                       "loadBalance",
                                       "log",
                                       "loop",
                                       "marshal",
                                       "multicast",
                                       "pausable",
                                       "pipeline",
                                       "policy",
                                       "poll",
                                       "pollEnrich",
                                       "process",
                                       "recipientList",
                                       "removeHeader",
                                       "removeHeaders",
                                       "removeProperties",
                                       "removeProperty",
                                       "removeVariable",
                                       "resequence",
                                       "resumable",
                                       "rollback",
                                       "routingSlip",
                                       "saga",
                                       "sample",
                                       "script",
                                       "setBody",
                                       "setExchangePattern",
                                       "setHeader",
                                       "setHeaders",
                                       "setProperty",
                                       "setVariable",
                                       "setVariables",
                                       "sort",
                                       "split",
                                       "step",
                                       "stop",
                                       "threads",
                                       "throttle",
                                       "throwException",
                                       "to",
                                       "toD",
                                       "tokenizer",
                                       "transacted",
                                       "transform",
                                       "transformDataType",
                                       "unmarshal",
                                       "validate",
                                       "whenSkipSendToEndpoint",
                                       "wireTap"};

constexpr std::string_view kItems[] = {"dataFormats",
                                       "intercept",
                                       "interceptFrom",
                                       "interceptSendToEndpoint",
                                       "onCompletion",
                                       "routeTemplate",
                                       "sslContextParameters",
                                       "templatedRoute",
                                       "transformers",
                                       "validators",
                                       "kamelet",
                                       "refErrorHandler",
                                       "jtaTransactionErrorHandler",
                                       "springTransactionErrorHandler"};

constexpr std::string_view kLanguages[] = {
    "csimple", "datasonnet", "groovy", "hl7terser", "java",   "joor",     "jq",
    "js",      "language",   "method", "mvel",      "ognl",   "python",   "ref",
    "spel",    "tokenize",   "wasm",   "xpath",     "xquery", "xtokenize"};

constexpr std::string_view kLanguageOptions[] = {"resultType",
                                                 "source",
                                                 "suppressExceptions",
                                                 "allowSimple",
                                                 "allowEasyPredicate",
                                                 "writeAsString",
                                                 "unpackArray",
                                                 "option",
                                                 "nested",
                                                 "pretty",
                                                 "documentType",
                                                 "resultQName",
                                                 "saxon",
                                                 "threadSafety",
                                                 "logNamespaces",
                                                 "preCompile",
                                                 "token",
                                                 "endToken",
                                                 "regex",
                                                 "xml",
                                                 "includeTokens",
                                                 "group",
                                                 "groupDelimiter",
                                                 "skipFirst",
                                                 "inheritNamespaceTagName",
                                                 "namespace"};

constexpr std::string_view kDataFormats[] = {
    "asn1",          "avro",         "barcode",  "base64",       "beanio",
    "bindy",         "cbor",         "crypto",   "csv",          "custom",
    "fhirJson",      "fhirXml",      "flatpack", "fory",         "grok",
    "groovyXml",     "gzipDeflater", "hl7",      "ical",         "iso8583",
    "jacksonXml",    "jaxb",         "json",     "jsonApi",      "lzf",
    "mimeMultipart", "parquetAvro",  "pgp",      "pqc",          "protobuf",
    "rss",           "smooks",       "soap",     "swiftMt",      "swiftMx",
    "syslog",        "tarFile",      "thrift",   "univocityCsv", "univocityFixed",
    "univocityTsv",  "xmlSecurity",  "yaml",     "zipDeflater",  "zipFile"};

constexpr std::string_view kOptions[] = {"errorHandlerRef",
                                         "inputType",
                                         "nodePrefixId",
                                         "outputType",
                                         "precondition",
                                         "routePolicyRef",
                                         "shutdownRoute",
                                         "shutdownRunningTask",
                                         "variableReceive",
                                         "variableSend",
                                         "toType",
                                         "fromType",
                                         "executorService",
                                         "threadPool",
                                         "onPrepare",
                                         "redeliveryPolicyRef",
                                         "onRedeliveryRef",
                                         "onExceptionOccurredRef",
                                         "inheritErrorHandler",
                                         "apiComponent",
                                         "apiHost",
                                         "apiVendorExtension",
                                         "bindingPackageScan",
                                         "clientResponseValidation",
                                         "componentProperty",
                                         "consumerProperty",
                                         "dataFormatProperty",
                                         "enableNoContentResponse",
                                         "endpointProperty",
                                         "hostNameResolver",
                                         "inlineRoutes",
                                         "jsonDataFormat",
                                         "producerApiDoc",
                                         "producerComponent",
                                         "skipBindingOnErrorCode",
                                         "useXForwardHeaders",
                                         "xmlDataFormat"};

struct Instead {
  std::string_view name;
  std::string_view hint;
};
constexpr Instead kInstead[] = {
    {"routeTemplate", "write the route out, with {{placeholders}} for what varies"},
    {"templatedRoute", "write the route out, with {{placeholders}} for what varies"},
    {"kamelet", "write the steps of the kamelet out"},
    {"script", "register a C++ function and call it by `process: {ref: name}`"},
    {"loop", "use split over a list"},
    {"poll", "use a route that reads from the endpoint"},
    {"policy", "for transactions use `transacted`"},
    {"validate", "use `choice` or `filter` with `throwException`"},
    {"rollback", "use `throwException` inside `transacted`"},
    {"removeVariable", "use `setVariable` with `constant: \"\"`"},
    {"recipientList", "use toD or multicast"},
    {"groovy", "register a C++ function and call it by `process: {ref: name}`"},
    {"tokenize", "use the option `delimiter` of split"},
    {"jq", "use jsonpath"},
    {"jtaTransactionErrorHandler", "use `transacted`"},
    {"springTransactionErrorHandler", "use `transacted`"},
};

template <size_t N>
bool contains(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

bool is_camel_step(std::string_view name) { return contains(kSteps, name); }
bool is_camel_item(std::string_view name) { return contains(kItems, name); }
bool is_camel_language(std::string_view name) { return contains(kLanguages, name); }
bool is_camel_language_option(std::string_view name) { return contains(kLanguageOptions, name); }
bool is_camel_data_format(std::string_view name) { return contains(kDataFormats, name); }
bool is_camel_option(std::string_view name) { return contains(kOptions, name); }

std::string_view instead_of(std::string_view name) {
  for (const Instead& entry : kInstead)
    if (entry.name == name) return entry.hint;
  return {};
}

std::string camel_case(std::string_view name) {
  std::string out;
  bool capital = false;
  for (const char c : name) {
    if (c == '-') {
      capital = !out.empty();
      continue;
    }
    out += capital && c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
    capital = false;
  }
  return out;
}

}  // namespace drom
