#include "dsl/reference.hpp"

#include <gtest/gtest.h>

#include <set>

#include "drom/app.hpp"
#include "dsl/yaml_reader.hpp"
#include "spi/step_support.hpp"

namespace drom {
namespace {

ReferenceEntry sample() {
  ReferenceEntry entry;
  entry.kind = ReferenceKind::component;
  entry.aliases = {"pipes"};
  ConfigSpec& spec = entry.spec;
  spec.name = "pipe";
  spec.title = "Pipe";
  spec.doc = "Moves water. Use it where water is.";
  spec.syntax = "pipe:name";
  spec.consumes = true;
  spec.produces = true;
  OptionSpec name = required_option("name", OptionType::text, "The name.");
  name.path = true;
  OptionSpec width = option("width", OptionType::size, "How wide.", "1KB");
  width.minimum = 1024;
  OptionSpec key = option("key", OptionType::text, "The key.");
  key.secret = true;
  spec.options = {name, width, key, enum_option("mode", {"a|b", "c"}, "The mode.", "c")};
  spec.example = "- to: pipe:x\n";
  return entry;
}

TEST(ReferencePage, IsMarkdown) {
  EXPECT_EQ(sample().path(), "components/pipe.md");
  EXPECT_EQ(reference_markdown(sample()),
            "# Pipe\n\n`pipe`\n\nMoves water. Use it where water is.\n\n"
            "Syntax: `pipe:name`, as source (`from`) and as target (`to`).\n\n"
            "Also known as `pipes`.\n\n"
            "| Option | Type | Default | What it does |\n|---|---|---|---|\n"
            "| `name` (path) | text | **required** | The name. |\n"
            "| `width` | size | `1KB` | How wide. At least 1KB. |\n"
            "| `key` | text |  | The key. Secret: never printed. |\n"
            "| `mode` | `a\\|b`, `c` | `c` | The mode. |\n\n"
            "## Example\n\n```yaml\n- to: pipe:x\n```\n");
}

TEST(ReferencePage, IsTextForATerminal) {
  EXPECT_EQ(reference_text(sample(), 60),
            "pipe  component pipe:name  (from, to)\n  also: pipes\n\n"
            "  Moves water. Use it where water is.\n\nOPTIONS\n"
            "  name (a text, required, in the path)\n      The name.\n"
            "  width (a size, default 1KB, at least 1KB)\n      How wide.\n"
            "  key (a text, secret)\n      The key.\n"
            "  mode (one of a|b, c, default c)\n      The mode.\n\n"
            "EXAMPLE\n  - to: pipe:x\n");
}

TEST(ReferencePage, BreaksLines) {
  const ReferenceEntry entry = sample();
  const std::string text = reference_text(entry, 40);
  size_t longest = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  EXPECT_LE(longest, 40U) << text;
}

class References : public ::testing::Test {
 protected:
  References() { register_builtin(registry); }
  Registry registry;
};

TEST_F(References, AreFoundByNameAndAlias) {
  EXPECT_EQ(find_reference(registry, "log").size(), 2U);  // the step and the component
  ASSERT_EQ(find_reference(registry, "https").size(), 1U);
  EXPECT_EQ(find_reference(registry, "https")[0].spec.name, "http");
  EXPECT_EQ(find_reference(registry, "onException").size(), 1U);
  EXPECT_TRUE(find_reference(registry, "nothing").empty());
}

TEST_F(References, HaveAPageEach) {
  std::set<std::string> paths;
  for (const ReferenceFile& file : reference_files(registry)) {
    EXPECT_TRUE(paths.insert(file.path).second) << file.path;
    EXPECT_FALSE(file.text.empty()) << file.path;
    EXPECT_TRUE(file.text.ends_with('\n')) << file.path;
  }
  for (const char* path : {"README.md", "errors.md", "routes.schema.json", "steps/log.md",
                           "components/log.md", "routes/from.md"})
    EXPECT_TRUE(paths.contains(path)) << path;
}

// The specs are the documentation: each says what it is for, each option too.
TEST_F(References, AreComplete) {
  for (const ReferenceEntry& entry : reference_entries(registry)) {
    const ConfigSpec& spec = entry.spec;
    EXPECT_FALSE(spec.title.empty()) << spec.name;
    EXPECT_TRUE(spec.doc.ends_with(".")) << spec.name;
    for (const OptionSpec& option : spec.options)
      EXPECT_TRUE(option.doc.ends_with(".")) << spec.name << "." << option.name;
    if (entry.kind == ReferenceKind::component)
      EXPECT_TRUE(spec.consumes || spec.produces) << spec.name;
  }
}

// Every example of the pages must be read without an error.
TEST_F(References, HaveExamplesThatAreRight) {
  for (const ReferenceEntry& entry : reference_entries(registry)) {
    const std::string& example = entry.spec.example;
    if (example.empty()) continue;
    // Examples of steps and endpoints are steps, the others are items of a file.
    std::string text = example;
    const bool item = example.starts_with("- from:") || example.starts_with("- route:") ||
                      example.starts_with("- beans:") || example.starts_with("- rest") ||
                      example.starts_with("beans:") || example.starts_with("- onException:") ||
                      example.starts_with("- errorHandler:") ||
                      example.starts_with("- routeConfiguration:");
    if (!item) {
      text = "- from:\n    uri: direct:x\n    steps:\n";
      for (size_t at = 0; at < example.size();) {
        const size_t end = std::min(example.find('\n', at), example.size());
        text += "      " + example.substr(at, end - at) + "\n";
        at = end + 1;
      }
    }
    ContextSpec spec;
    Diagnostics diagnostics;
    EXPECT_TRUE(read_yaml(text, entry.path(), registry, spec, diagnostics)) << diagnostics.render();
  }
}

}  // namespace
}  // namespace drom
