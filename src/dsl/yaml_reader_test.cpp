#include "dsl/yaml_reader.hpp"

#include <gtest/gtest.h>

#include "drom/app.hpp"

namespace drom {
namespace {

class YamlReader : public ::testing::Test {
 protected:
  YamlReader() { register_builtin(registry); }

  const ContextSpec& read(std::string_view text) {
    spec = ContextSpec();
    diagnostics = Diagnostics();
    fine = read_yaml(text, "r.yaml", registry, spec, diagnostics);
    EXPECT_EQ(fine, !diagnostics.has_errors());
    return spec;
  }
  const ContextSpec& read_well(std::string_view text) {
    read(text);
    EXPECT_TRUE(fine) << diagnostics.render();
    return spec;
  }
  // The steps of `- from:` with these lines as its steps.
  std::vector<StepSpec> steps(const std::string& lines) {
    read_well("- from:\n    uri: direct:x\n    steps:\n" + lines);
    return spec.routes.empty() ? std::vector<StepSpec>() : spec.routes[0].steps;
  }
  // "E0201@3:7 what | hint" per problem.
  std::string problems(std::string_view text) {
    read(text);
    std::string out;
    for (const Diagnostic& item : diagnostics.items()) {
      if (!out.empty()) out += "\n";
      out += item.code + "@" + std::to_string(item.where.line) + ":" +
             std::to_string(item.where.column) + " " + item.what;
      if (!item.hint.empty()) out += " | " + item.hint;
    }
    return out;
  }
  std::string step_problems(const std::string& lines) {
    return problems("- from:\n    uri: direct:x\n    steps:\n" + lines);
  }

  Registry registry;
  ContextSpec spec;
  Diagnostics diagnostics;
  bool fine = false;
};

std::string text(const ExpressionSpec& e) { return e.language + ":" + e.text; }

TEST_F(YamlReader, ReadsTheCanonicalForm) {
  read_well(R"(
- route:
    id: r1
    description: A route
    autoStartup: false
    from:
      uri: timer:yaml
      parameters: {period: "1000", repeatCount: 3}
      steps:
        - setBody: {expression: {simple: {expression: "Hello ${routeId}"}}}
        - log: {message: "${body}"}
        - to: {uri: "direct:x", parameters: {timeout: 5}}
)");
  ASSERT_EQ(spec.routes.size(), 1U);
  const RouteSpec& route = spec.routes[0];
  EXPECT_EQ(route.id, "r1");
  EXPECT_EQ(route.from.name, "from");
  EXPECT_EQ(route.from.text("uri"), "timer:yaml");
  ASSERT_EQ(route.from.parameters.size(), 2U);
  EXPECT_EQ(route.from.parameters[1].name, "repeatCount");
  EXPECT_EQ(route.from.parameters[1].text, "3");
  EXPECT_EQ(route.options.size(), 2U);
  ASSERT_EQ(route.steps.size(), 3U);
  EXPECT_EQ(text(route.steps[0].find("expression")->expression), "simple:Hello ${routeId}");
  EXPECT_EQ(route.steps[1].text("message"), "${body}");
  EXPECT_EQ(route.steps[2].parameters[0].name, "timeout");
  EXPECT_EQ(route.steps[2].where.text(), "r.yaml:12:11");
  EXPECT_EQ(route.steps[2].find("uri")->where.text(), "r.yaml:12:21");
}

TEST_F(YamlReader, ReadsTheClassicForm) {
  read_well(R"(
- from:
    uri: "direct:in?block=true"
    steps:
      - log: "got ${body}"
      - setBody: {simple: "x"}
      - setHeader: {name: a, constant: {expression: 1}}
      - to: "mock:out?retainFirst=3"
      - stop: {}
)");
  ASSERT_EQ(spec.routes.size(), 1U);
  const std::vector<StepSpec>& steps = spec.routes[0].steps;
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_TRUE(spec.routes[0].id.empty());
  EXPECT_EQ(steps[0].text("message"), "got ${body}");
  EXPECT_EQ(text(steps[1].find("expression")->expression), "simple:x");
  EXPECT_EQ(text(steps[2].find("expression")->expression), "constant:1");
  EXPECT_EQ(steps[3].text("uri"), "mock:out?retainFirst=3");
}

TEST_F(YamlReader, ReadsAllFormsOfAnExpression) {
  for (const char* form :
       {"simple: a", "simple: {expression: a}", "expression: {simple: a}",
        "expression: {simple: {expression: a, id: e1}}", "expression: {expression: {simple: a}}",
        "language: {language: simple, expression: a}",
        "expression: {language: {language: simple, expression: a}}", "simple: \" a \"",
        "expression: {id: x, simple: a}"}) {
    const auto read = steps(std::string("      - setBody: {") + form + "}\n");
    ASSERT_EQ(read.size(), 1U) << form;
    ASSERT_TRUE(read[0].find("expression")) << form;
    EXPECT_EQ(text(read[0].find("expression")->expression), "simple:a") << form;
  }
  EXPECT_EQ(text(steps("      - setBody: {simple: {expression: ' a ', trim: false}}\n")[0]
                     .find("expression")
                     ->expression),
            "simple: a ");
  EXPECT_EQ(text(steps("      - setBody:\n          simple: |\n            a\n            b\n")[0]
                     .find("expression")
                     ->expression),
            "simple:a\nb");
}

TEST_F(YamlReader, ReadsClauses) {
  const auto read = steps(R"(
      - choice:
          id: c1
          when:
            - simple: "${header.a}"
              steps:
                - log: a
            - expression: {simple: {expression: "${header.b}"}}
              id: w2
              steps: []
          otherwise:
            steps:
              - log: c
      - doTry:
          steps: [{log: try}]
          doCatch:
            - exception: [java.io.IOException, data]
              onWhen: {simple: "${header.x}"}
              steps: [{log: caught}]
          doFinally:
            steps: [{log: finally}]
      - setHeaders:
          headers:
            - {name: a, constant: 1}
            - {name: b, simple: "${body}"}
      - marshal: {json: {prettyPrint: true}}
      - unmarshal: {json: {}}
)");
  ASSERT_EQ(read.size(), 5U);
  ASSERT_EQ(read[0].clauses.size(), 3U);
  EXPECT_EQ(read[0].text("id"), "c1");
  EXPECT_EQ(read[0].clauses[0].name, "when");
  EXPECT_EQ(read[0].clauses[0].steps.size(), 1U);
  EXPECT_EQ(read[0].clauses[1].text("id"), "w2");
  EXPECT_TRUE(read[0].clauses[1].has_steps);
  EXPECT_EQ(read[0].clauses[2].name, "otherwise");
  EXPECT_EQ(read[1].clauses[0].find("exception")->values,
            (std::vector<std::string>{"java.io.IOException", "data"}));
  EXPECT_EQ(text(read[1].clauses[0].find("onWhen")->expression), "simple:${header.x}");
  EXPECT_EQ(read[1].clauses[1].name, "doFinally");
  EXPECT_EQ(read[2].clauses.size(), 2U);
  EXPECT_EQ(read[3].clauses[0].text("prettyPrint"), "true");
  EXPECT_EQ(read[4].clauses.size(), 1U);
}

TEST_F(YamlReader, FlattensNestedMapsAndKeepsListsAndRawValues) {
  const auto read = steps(R"(
      - to:
          uri: http:x
          parameters:
            a: {b: {c: 1}}
            list: [x, y]
            secret: RAW(p&q)
            empty:
)");
  const auto& parameters = read[0].parameters;
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[0].name, "a.b.c");
  EXPECT_EQ(parameters[1].values, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(parameters[2].text, "p&q");
  EXPECT_EQ(parameters[3].text, "");
}

TEST_F(YamlReader, ReadsErrorHandlingConfigurationsAndBeans) {
  read_well(R"(
- onException:
    exception: [java.lang.Exception]
    handled: {constant: {expression: "true"}}
    redeliveryPolicy: {maximumRedeliveries: 3, redeliveryDelay: 10}
    steps: [{log: bad}]
- errorHandler:
    deadLetterChannel:
      deadLetterUri: mock:dead
      redeliveryPolicy: {maximumRedeliveries: 2}
- routeConfiguration:
    id: rc
    errorHandler: {noErrorHandler: {}}
    onException:
      - onException: {exception: [data], continued: true, steps: [{log: x}]}
- beans:
    - name: orders
      type: "#class:drom.sqlite"
      properties: {file: o.db, pool: {size: 3}}
- route:
    routeConfigurationId: rc
    errorHandler: {defaultErrorHandler: {redeliveryPolicy: {maximumRedeliveries: 1}}}
    from: {uri: direct:a, steps: [{log: x}]}
)");
  ASSERT_EQ(spec.on_exceptions.size(), 1U);
  EXPECT_EQ(spec.on_exceptions[0].text("redeliveryPolicy.maximumRedeliveries"), "3");
  EXPECT_EQ(text(spec.on_exceptions[0].find("handled")->expression), "constant:true");
  EXPECT_EQ(spec.on_exceptions[0].steps.size(), 1U);
  EXPECT_EQ(spec.error_handler.name, "deadLetterChannel");
  EXPECT_EQ(spec.error_handler.text("deadLetterUri"), "mock:dead");
  ASSERT_EQ(spec.configurations.size(), 1U);
  EXPECT_EQ(spec.configurations[0].id, "rc");
  EXPECT_EQ(spec.configurations[0].error_handler.name, "noErrorHandler");
  ASSERT_EQ(spec.configurations[0].on_exceptions.size(), 1U);
  EXPECT_EQ(spec.configurations[0].on_exceptions[0].text("continued"), "true");
  ASSERT_EQ(spec.beans.size(), 1U);
  EXPECT_EQ(spec.beans[0].type, "drom.sqlite");
  EXPECT_EQ(spec.beans[0].properties[1].name, "pool.size");
  EXPECT_EQ(spec.routes[0].error_handler.name, "defaultErrorHandler");
}

TEST_F(YamlReader, ReadsCamelKIntegrations) {
  read_well(
      "apiVersion: camel.apache.org/v1\nkind: Integration\nspec:\n  flows:\n    - from: {uri: "
      "'timer:t', steps: [{log: x}]}\n");
  EXPECT_EQ(spec.routes.size(), 1U);
  EXPECT_EQ(problems("kind: Kamelet\nspec: {}\n"),
            "E0303@1:7 the kind 'Kamelet' is known in Camel, not supported yet");
}

TEST_F(YamlReader, TakesTheOldSpellingWithAWarning) {
  EXPECT_EQ(
      step_problems("      - set-body: {constant: x}\n      - log: {message: x, log-name: y}\n"),
      "E0311@4:9 'set-body' is an old spelling | write 'setBody'\n"
      "E0311@5:27 'log-name' is an old spelling | write 'logName'");
  EXPECT_TRUE(fine);
  EXPECT_EQ(spec.routes[0].steps[1].text("logName"), "y");
}

TEST_F(YamlReader, KeepsAStepWithoutStepsApartFromOneWithNone) {
  const auto read =
      steps("      - transacted: {}\n      - transacted: {steps: []}\n      - transacted:\n");
  EXPECT_FALSE(read[0].has_steps);
  EXPECT_TRUE(read[1].has_steps);
  EXPECT_FALSE(read[2].has_steps);
}

TEST_F(YamlReader, ReportsUnknownNames) {
  EXPECT_EQ(step_problems("      - setBdy: {constant: x}\n"),
            "E0406@4:9 unknown step 'setBdy' | did you mean 'setBody'?");
  EXPECT_EQ(step_problems("      - setHeader: {nme: a, constant: x}\n"),
            "E0201@4:21 unknown option 'nme' for setHeader | did you mean 'name'?");
  EXPECT_EQ(step_problems("      - to: {uri: x, brokers: y}\n"),
            "E0201@4:22 unknown option 'brokers' for to | options of the endpoint stand under "
            "`parameters:`");
  EXPECT_EQ(step_problems("      - aggregate: {}\n"),
            "E0303@4:9 the step 'aggregate' is known in Camel, not supported yet");
  EXPECT_EQ(step_problems("      - setBody: {groovy: x}\n"),
            "E0303@4:19 the language 'groovy' is known in Camel, not supported yet | register a "
            "C++ function and call it by "
            "`process: {ref: name}`");
  EXPECT_EQ(step_problems("      - setBody: {expression: {simpel: x}}\n"),
            "E0307@4:32 unknown expression language 'simpel' | did you mean 'simple'?");
  EXPECT_EQ(step_problems("      - marshal: {csv: {}}\n"),
            "E0303@4:19 the data format 'csv' is known in Camel, not supported yet");
  EXPECT_EQ(problems("- rute: {}\n"), "E0301@1:3 unknown item 'rute' | did you mean 'route'?");
  EXPECT_EQ(problems("- dataFormats: {}\n"),
            "E0303@1:3 the item 'dataFormats' is known in Camel, not supported yet");
}

TEST_F(YamlReader, ReportsWhatStandsInTheWrongPlace) {
  EXPECT_EQ(problems("- from:\n    uri: timer:x\n  steps:\n    - log: x\n").substr(0, 9),
            "E0304@3:3");
  EXPECT_EQ(problems("- route:\n    from: {uri: 'timer:x'}\n    steps:\n      - log: x\n"),
            "E0304@3:5 'steps' stands beside 'from' | since Camel 3.15 steps belong inside of "
            "`from:`; indent them by one level");
  EXPECT_EQ(problems("- route: {id: x}\n"),
            "E0305@1:3 the route has no 'from' | add `from:` with `uri:` and `steps:`");
  EXPECT_EQ(step_problems("      - when: {}\n").substr(0, 27), "E0308@4:9 'when' is no step");
  EXPECT_EQ(problems("- log: x\n").substr(0, 9), "E0308@1:3");
  EXPECT_EQ(step_problems("      - to: x\n        id: y\n"),
            "E0310@5:9 'id' stands beside the step 'to' | indent it under 'to' if it belongs "
            "there, or start a step with '- '");
  EXPECT_EQ(step_problems("      - stop\n"), "E0310@4:9 a step is a map | write `- stop: {}`");
}

TEST_F(YamlReader, ReportsTheWrongForm) {
  EXPECT_EQ(problems("route: {}\n"),
            "E0306@1:1 a route file takes a list, not a map | write `- route:`, with what is "
            "inside indented");
  EXPECT_EQ(problems("just text\n").substr(0, 9), "E0306@1:1");
  EXPECT_EQ(problems("").substr(0, 9), "E0301@1:1");
  EXPECT_EQ(step_problems("      - setBody: text\n"),
            "E0306@4:18 setBody takes a map, not a text | write the language first, such as "
            "`simple: \"${body}\"` or `constant: text`");
  EXPECT_EQ(step_problems("      - log: {message: {a: b}}\n"),
            "E0306@4:24 'message' of log takes a text, not a map");
  EXPECT_EQ(step_problems("      - choice: {otherwise: [{steps: []}]}\n"),
            "E0306@4:29 'otherwise' takes a map, not a list | remove the '- '");
  EXPECT_EQ(step_problems("      - filter: {simple: x, steps: {log: x}}\n"),
            "E0306@4:36 'steps' takes a list, not a map | start each step with '- '");
  EXPECT_EQ(problems("- from: {uri: 'timer:x'}\n"),
            "E0309@1:3 from has no steps | add `steps:` inside of it");
  EXPECT_EQ(
      problems("- errorHandler: {noErrorHandler: {}}\n- errorHandler: {noErrorHandler: {}}\n"),
      "E0312@2:18 a second error handler | the first is at r.yaml:1:18; keep one");
}

TEST_F(YamlReader, ReportsWrongBeans) {
  EXPECT_EQ(problems("- beans:\n    - type: drom.sqlite\n"),
            "E0202@2:7 the bean needs 'name' | routes refer to it by this name");
  EXPECT_EQ(problems("- beans:\n    - {name: a, type: t, constructors: {0: x}}\n").substr(0, 10),
            "E0303@2:26");
  EXPECT_EQ(problems("- beans:\n    - {name: a, type: t}\n    - {name: a, type: t}\n"),
            "E0313@3:7 the bean name 'a' is used twice | the first is at r.yaml:2:7");
  EXPECT_EQ(problems("- beans: {name: a}\n").substr(0, 5), "E0306");
}

TEST_F(YamlReader, ReportsAllErrorsAtOnceAndReadsTheRest) {
  read(
      "- from:\n    uri: direct:x\n    steps:\n      - nope: {steps: [{alsoNope: {}}]}\n      - "
      "log: {mesage: x}\n      - log: fine\n- beens: []\n");
  EXPECT_EQ(diagnostics.items().size(), 4U) << diagnostics.render();
  ASSERT_EQ(spec.routes.size(), 1U);
  EXPECT_EQ(spec.routes[0].steps.back().text("message"), "fine");
}

TEST_F(YamlReader, KeepsTheTextForMessages) {
  read("- rute: {}\n");
  EXPECT_EQ(diagnostics.render(),
            "error[E0301] r.yaml:1:3: unknown item 'rute'\n"
            "    1 | - rute: {}\n"
            "      |   ^\n"
            "  hint: did you mean 'route'?\n"
            "1 error\n");
}

}  // namespace
}  // namespace drom
