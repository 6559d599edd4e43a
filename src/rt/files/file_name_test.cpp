#include "rt/files/file_name.hpp"

#include <gtest/gtest.h>

namespace drom::file {
namespace {

TEST(SafeName, TidiesNamesThatStayBelow) {
  EXPECT_EQ(safe_name("a.txt").value(), "a.txt");
  EXPECT_EQ(safe_name("a//./b/c.txt").value(), "a/b/c.txt");
  EXPECT_EQ(safe_name("..hidden/x..y").value(), "..hidden/x..y");
}

TEST(SafeName, RefusesEverythingThatCouldLeave) {
  const std::string nul("a\0b", 3);
  for (const std::string& name :
       {std::string(), std::string("/etc/passwd"), std::string(".."), std::string("../x"),
        std::string("a/../../x"), std::string("a/.."), std::string("."), std::string("a/"), nul,
        std::string(300, 'x'), std::string(5000, 'x')}) {
    const Result<std::string> refused = safe_name(name);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::data);
  }
}

TEST(FileNames, AreTakenApart) {
  EXPECT_EQ(folder_of("a/b/c.txt"), "a/b");
  EXPECT_EQ(folder_of("c.txt"), "");
  EXPECT_EQ(base_of("a/b/c.txt"), "c.txt");
  EXPECT_EQ(without_extension("c.tar.gz"), "c.tar");
  EXPECT_EQ(without_extension(".profile"), ".profile");
  EXPECT_EQ(extension_of("c.tar.gz"), "gz");
  EXPECT_EQ(joined("", "x"), "x");
  EXPECT_EQ(joined("/", "x"), "/x");
  EXPECT_EQ(joined("a", "x"), "a/x");
}

TEST(AntMatches, KnowsItsThreeSigns) {
  EXPECT_TRUE(ant_matches("*.csv", "a.csv", true));
  EXPECT_FALSE(ant_matches("*.csv", "sub/a.csv", true));
  EXPECT_TRUE(ant_matches("**/*.csv", "a.csv", true));
  EXPECT_TRUE(ant_matches("**/*.csv", "x/y/a.csv", true));
  EXPECT_TRUE(ant_matches("old/**", "old/x/y", true));
  EXPECT_FALSE(ant_matches("old/**", "new/x", true));
  EXPECT_TRUE(ant_matches("a?c", "abc", true));
  EXPECT_FALSE(ant_matches("a?c", "ac", true));
  EXPECT_FALSE(ant_matches("*.CSV", "a.csv", true));
  EXPECT_TRUE(ant_matches("*.CSV", "a.csv", false));
  EXPECT_TRUE(ant_matches("x/**/y/*.txt", "x/1/2/y/a.txt", true));
  EXPECT_TRUE(ant_matches("**", "x/y", true));
}

TEST(AntMatches, IsQuickWithHostilePatterns) {
  EXPECT_FALSE(ant_matches("*a*a*a*a*a*a*a*a*a*a*b", std::string(250, 'a'), true));
}

TEST(IsUtf8, KnowsGoodFromBad) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\xAA"));
  for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80",
                          "\xF4\x90\x80\x80", "\xFF", "\xE2\x82"})
    EXPECT_FALSE(is_utf8(bad));
}

TEST(DoneName, IsMadeFromTheFileName) {
  const DoneName done = DoneName::parse("${file:name}.done").value();
  EXPECT_EQ(done.of("a.txt"), "a.txt.done");
  EXPECT_TRUE(done.is_done_file("a.txt.done"));
  EXPECT_FALSE(done.is_done_file("a.txt"));
  EXPECT_EQ(DoneName::parse("ready-${file:name.noext}").value().of("a.txt"), "ready-a");
  EXPECT_TRUE(DoneName::parse("done").value().fixed());
  EXPECT_FALSE(DoneName::parse("").value().used());
  for (const char* wrong : {"${file:name}", "${date:now}.done", "x/${file:name}", "${file:name"})
    EXPECT_FALSE(DoneName::parse(wrong).ok()) << wrong;
}

}  // namespace
}  // namespace drom::file
