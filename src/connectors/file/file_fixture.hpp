// A harness with the file component and an empty folder that goes away with the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "connectors/file/file.hpp"
#include "support/endpoints.hpp"

namespace drom::testing {

namespace fs = std::filesystem;

class FileFixture : public ::testing::Test {
 protected:
  FileFixture() {
    register_file(harness.registry());
    std::string name = (fs::path(::testing::TempDir()) / "drom-file-XXXXXX").string();
    DROM_ASSERT(::mkdtemp(name.data()));
    folder = fs::canonical(name);
  }
  ~FileFixture() override {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(folder, ignored);
  }

  std::unique_ptr<Endpoint> endpoint(Options more = {}, const std::string& sub = "") {
    more.emplace_back("directoryName", (folder / sub).string());
    return make_endpoint(harness, "file", more);
  }
  void put(const std::string& name, std::string_view content = "x") const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << content;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(folder / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  bool exists(const std::string& name) const { return fs::exists(folder / name); }
  // All files below the folder, sorted.
  std::vector<std::string> all() const {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (!entry.is_directory()) out.push_back(fs::relative(entry.path(), folder).string());
    std::sort(out.begin(), out.end());
    return out;
  }

  Harness harness;
  fs::path folder;
};

}  // namespace drom::testing
