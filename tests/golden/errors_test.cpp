// Wrong route files and exactly what `drom validate` says about them: tests/golden/errors/NAME/
// holds route.yaml and expected.txt. DROM_GOLDEN_UPDATE=1 writes expected.txt anew; read the
// difference before you commit it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

const fs::path kFolder = fs::path(DROM_SOURCE_DIR) / "tests/golden/errors";

std::string nested(size_t depth) {
  std::string out = "- from:\n    uri: timer:tick\n    steps:\n";
  std::string indentation(6, ' ');
  for (size_t i = 0; i < depth; ++i) {
    out += indentation + "- step:\n" + indentation + "    steps:\n";
    indentation += "      ";
  }
  return out + indentation + "- log: deep\n";
}

// Files with bytes that do not survive an editor, or too large to keep.
std::map<std::string, std::string> generated_files() {
  std::string utf16 = "\xFF\xFE"s;
  for (const char c : "- from: {}\n"s) utf16 += {c, '\0'};
  std::string long_list = "- from:\n    uri: timer:tick\n    steps: [";
  for (int i = 0; i < 110'000; ++i) long_list += "a,";
  return {
      {"byte_order_mark",
       "\xEF\xBB\xBF- from:\n    uri: timer:tick\n    steps:\n      - log: tick\n"s},
      {"utf_16", utf16},
      {"nul_byte", "- from:\n    uri: \"timer:ti\0ck\"\n    steps:\n      - log: tick\n"s},
      {"invalid_utf_8", "- from:\n    uri: timer:t\xE9k\n    steps:\n      - log: tick\n"s},
      {"control_character",
       "- from:\n    uri: timer:tick\n    steps:\n      - log: \"\x1B[31mred\"\n"s},
      {"too_deep", nested(60)},
      {"too_many_values", long_list + "a]\n"},
      {"too_long", "# " + std::string((size_t{1} << 20), 'x') + "\n"},
  };
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

struct Outcome {
  std::string output;
  int exit_code = -1;
};

Outcome validate(const fs::path& folder) {
  const std::string command =
      "cd '" + folder.string() + "' && '" + DROM_PROGRAM + "' validate route.yaml 2>&1";
  Outcome out;
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) return out;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.output.append(buffer, n);
  const int status = pclose(pipe);
  out.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return out;
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (fs::exists(entry.path() / "route.yaml")) out.push_back(entry.path().filename().string());
  for (const auto& [name, bytes] : generated_files()) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

class WrongFile : public testing::TestWithParam<std::string> {
 protected:
  // The folder to run in; generated files get one of their own.
  fs::path folder() {
    const auto files = generated_files();
    const auto file = files.find(GetParam());
    if (file == files.end()) return kFolder / GetParam();
    temporary_ = fs::path(testing::TempDir()) /
                 ("drom_golden_" + std::to_string(getpid()) + "_" + GetParam());
    write_text(temporary_ / "route.yaml", file->second);
    return temporary_;
  }
  void TearDown() override {
    std::error_code ignored;
    if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
  }

 private:
  fs::path temporary_;
};

TEST_P(WrongFile, GetsExactlyThisMessage) {
  const Outcome run = validate(folder());
  EXPECT_EQ(run.exit_code, 78) << run.output;
  const fs::path expected = kFolder / GetParam() / "expected.txt";
  if (std::getenv("DROM_GOLDEN_UPDATE")) write_text(expected, run.output);
  EXPECT_EQ(run.output, read_text(expected)) << "in " << expected;
}

INSTANTIATE_TEST_SUITE_P(Golden, WrongFile, testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

TEST(WrongFiles, AreManyAndEachIsExplained) {
  ASSERT_GE(names().size(), 45U);
  for (const std::string& name : names()) {
    const std::string text = read_text(kFolder / name / "expected.txt");
    EXPECT_NE(text.find("error[E"), std::string::npos) << name;
    EXPECT_EQ(text.find("s3cret"), std::string::npos) << name;
    EXPECT_EQ(text.find('\x1B'), std::string::npos) << name;
  }
}

}  // namespace
