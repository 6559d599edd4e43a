#include "config/error_codes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace drom {
namespace {

namespace fs = std::filesystem;

std::set<std::string> codes_in_sources() {
  std::set<std::string> out;
  const std::regex code("\"(E[0-9]{4})\"");
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(DROM_SOURCE_DIR) / "src")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".cpp" || name.ends_with("_test.cpp") ||
        name == "error_codes.cpp")
      continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string all = text.str();
    for (std::sregex_iterator it(all.begin(), all.end(), code), end; it != end; ++it)
      out.insert((*it)[1]);
  }
  return out;
}

TEST(ErrorCodes, AreThoseOfTheSourcesAndNoOthers) {
  std::set<std::string> table;
  for (const ErrorCode& entry : error_codes()) table.emplace(entry.code);
  const std::set<std::string> used = codes_in_sources();
  ASSERT_GT(used.size(), 20U);
  for (const std::string& code : used)
    EXPECT_TRUE(table.contains(code)) << code << " is missing in src/config/error_codes.cpp";
  for (const std::string& code : table)
    EXPECT_TRUE(used.contains(code))
        << code << " is used nowhere: remove it from src/config/error_codes.cpp";
}

TEST(ErrorCodes, AreSortedAndExplained) {
  std::string_view before;
  for (const ErrorCode& entry : error_codes()) {
    EXPECT_LT(before, entry.code);
    before = entry.code;
    EXPECT_FALSE(entry.title.empty()) << entry.code;
    EXPECT_TRUE(entry.meaning.ends_with(".")) << entry.code;
  }
  EXPECT_EQ(find_error_code("E0201")->title, "unknown option");
  EXPECT_EQ(find_error_code("E9999"), nullptr);
}

TEST(ErrorCodes, MakeAPage) {
  const std::string page = error_codes_page();
  EXPECT_TRUE(page.starts_with("# Configuration errors\n"));
  EXPECT_NE(page.find("| `E0201` | unknown option |"), std::string::npos);
}

}  // namespace
}  // namespace drom
