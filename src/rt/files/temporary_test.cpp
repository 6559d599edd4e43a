#include "rt/files/temporary.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace drom::file {
namespace {

namespace fs = std::filesystem;

class TemporaryFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string base = (fs::temp_directory_path() / "drom-temporary-XXXXXX").string();
    ASSERT_NE(::mkdtemp(base.data()), nullptr);
    folder = base;
    Result<DirectoryPtr> opened = Directory::open(folder.string(), FolderRules{});
    ASSERT_TRUE(opened.ok());
    directory = std::move(*opened);
  }
  void TearDown() override { fs::remove_all(folder); }

  Place place(const std::string& name) const {
    Result<Place> out = directory->place(name, FolderRules{});
    EXPECT_TRUE(out.ok());
    return std::move(*out);
  }
  void put(const std::string& name) const { std::ofstream(folder / name) << "half"; }
  bool has(const std::string& name) const { return fs::exists(fs::symlink_status(folder / name)); }
  size_t sweep(std::chrono::minutes later) const {
    const auto now = std::chrono::floor<WallTime::duration>(std::chrono::system_clock::now());
    const Result<size_t> dropped = drop_leftovers(*directory, now + later);
    EXPECT_TRUE(dropped.ok());
    return dropped.ok() ? *dropped : 0;
  }

  fs::path folder;
  DirectoryPtr directory;
};

TEST_F(TemporaryFiles, SweepsWhatNobodyHoldsAndLeavesTheRest) {
  const std::string held_name = temporary_name("held");
  const Place held_place = place(held_name);
  const Result<Fd> held = create_temporary(held_place);
  ASSERT_TRUE(held.ok());
  put(temporary_name("left"));
  put("order.tmp");
  put(".drom-order");
  fs::create_directory(folder / temporary_name("folder"));
  fs::create_symlink("order.tmp", folder / temporary_name("link"));
  ASSERT_EQ(::mkfifo((folder / temporary_name("pipe")).c_str(), 0600), 0);

  EXPECT_EQ(sweep(std::chrono::minutes(0)), 0u) << "too young";
  EXPECT_EQ(sweep(std::chrono::minutes(2)), 1u);
  EXPECT_FALSE(has(temporary_name("left")));
  for (const std::string& kept :
       {held_name, std::string("order.tmp"), std::string(".drom-order"), temporary_name("folder"),
        temporary_name("link"), temporary_name("pipe")})
    EXPECT_TRUE(has(kept)) << kept;
}

TEST_F(TemporaryFiles, ReplacesWhatIsLeftButNotWhatIsHeld) {
  put("a");
  const Place target = place("a");
  const Result<Fd> first = create_temporary(target);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(fs::file_size(folder / "a"), 0u);
  const Result<Fd> second = create_temporary(target);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::transient);
}

TEST_F(TemporaryFiles, NeverWritesThroughALink) {
  put("precious");
  fs::create_symlink("precious", folder / "a");
  const Place target = place("b");
  Place link;
  link.folder = Fd(::fcntl(target.folder.get(), F_DUPFD_CLOEXEC, 0));
  link.base = "a";
  link.shown = "a";
  EXPECT_FALSE(create_temporary(link).ok());
  EXPECT_EQ(fs::file_size(folder / "precious"), 4u);
}

}  // namespace
}  // namespace drom::file
