// Route files of public Camel projects, read where they lie (DROM_CAMEL_CORPUS, or the folder
// shared/ beside the repository); skipped where there are none. Whatever fails must fail because of
// something that Camel has and Dromedary has not yet, or because the file is wrong for Camel too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "drom/app.hpp"
#include "dsl/yaml_reader.hpp"

namespace drom {
namespace {

namespace fs = std::filesystem;

fs::path corpus() {
  if (const char* given = std::getenv("DROM_CAMEL_CORPUS")) return given;
  const fs::path repository(DROM_SOURCE_DIR);
  for (const fs::path& parent : {repository.parent_path(), repository.parent_path().parent_path()})
    if (fs::is_directory(parent / "shared/corpus/camel-yaml/route"))
      return parent / "shared/corpus/camel-yaml/route";
  return {};
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

TEST(CamelCorpus, IsReadExceptForWhatIsNotSupportedYet) {
  const fs::path folder = corpus();
  if (folder.empty())
    GTEST_SKIP()
        << "no Camel route files beside the repository; set DROM_CAMEL_CORPUS to a folder of them";
  Registry registry;
  register_builtin(registry);
  // E0303: known in Camel. E0304: the form of before 3.15. The rest: options of Camel that we lack,
  // and files that are wrong.
  std::map<std::string, int> codes;
  std::map<std::string, int> problems;
  int files = 0;
  int fine = 0;
  int only_missing_features = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    ContextSpec spec;
    Diagnostics diagnostics;
    if (read_yaml(read_text(entry.path()), entry.path().filename().string(), registry, spec,
                  diagnostics)) {
      ++fine;
      EXPECT_FALSE(spec.routes.empty() && spec.beans.empty() && spec.configurations.empty() &&
                   spec.on_exceptions.empty() && spec.error_handler.name.empty() &&
                   spec.rests.empty())
          << entry.path().filename();
      continue;
    }
    std::set<std::string> here;
    for (const Diagnostic& item : diagnostics.items()) {
      if (item.severity != Severity::error) continue;
      ++problems[item.code + " " + item.what];
      here.insert(item.code);
    }
    for (const std::string& code : here) ++codes[code];
    only_missing_features += here == std::set<std::string>{"E0303"} ? 1 : 0;
  }
  if (std::getenv("DROM_CORPUS_REPORT")) {
    for (const auto& [code, count] : codes) std::printf("%5d files  %s\n", count, code.c_str());
    for (const auto& [problem, count] : problems) std::printf("%5d  %s\n", count, problem.c_str());
    std::printf("%d files, %d read, %d lack only features\n", files, fine, only_missing_features);
  }
  EXPECT_GT(files, 0);
  // No name may be called unknown that Camel knows.
  EXPECT_EQ(codes["E0406"], 0);
  EXPECT_GE((fine + only_missing_features) * 100, files * 90) << fine << " of " << files << " read";
}

}  // namespace
}  // namespace drom
