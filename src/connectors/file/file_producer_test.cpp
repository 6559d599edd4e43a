#include <fcntl.h>
#include <sys/stat.h>

#include "connectors/file/file_fixture.hpp"
#include "rt/files/posix.hpp"
#include "support/pieces.hpp"

namespace drom {
namespace {

using testing::Options;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class FileProducer : public testing::FileFixture {
 protected:
  void open(Options options = {}, const std::string& sub = "") {
    target = endpoint(std::move(options), sub);
    producer = target->make_producer().value();
  }
  Exchange write(Value body, std::string id = "1") {
    Exchange exchange(Message{std::move(body), {}});
    exchange.message.headers.set("id", std::move(id));
    exchange.serial = ++serial;
    send(harness, *producer, exchange);
    return exchange;
  }

  std::unique_ptr<Endpoint> target;
  std::unique_ptr<Producer> producer;
  uint64_t serial = 0;
};

TEST_F(FileProducer, WritesTheBodyUnderTheNameOfTheExpression) {
  open({{"fileName", "orders/${header.id}.txt"}});
  const Exchange exchange = write("hello", "42");
  ASSERT_TRUE(exchange.running());
  EXPECT_EQ(content("orders/42.txt"), "hello");
  EXPECT_EQ(all(), Names{"orders/42.txt"});
  EXPECT_EQ(exchange.message.headers.text("CamelFileNameProduced"),
            (folder / "orders/42.txt").string());
}

TEST_F(FileProducer, WritesBytesAndDocumentsToo) {
  open({{"fileName", "${header.id}"}});
  write(Bytes(std::string("\x00\xFF", 2)), "bytes");
  EXPECT_EQ(content("bytes"), std::string("\x00\xFF", 2));
  Object object;
  object.set("n", 1);
  write(std::move(object), "json");
  EXPECT_EQ(content("json"), "{\"n\":1}");
  write("", "empty");
  EXPECT_TRUE(exists("empty"));
  EXPECT_EQ(content("empty"), "");
}

TEST_F(FileProducer, TakesTheExchangeIdForANameAndNeverAHeader) {
  open();
  Exchange exchange(Message{Value("x"), {}});
  exchange.serial = 9;
  exchange.message.headers.set("CamelFileName", "stolen.txt");
  send(harness, *producer, exchange);
  EXPECT_EQ(all(), Names{"test-9"});
}

TEST_F(FileProducer, RefusesNamesThatLeaveTheDirectory) {
  open({{"fileName", "${header.id}"}}, "out");
  for (const char* name : {"../x", "/tmp/x", "a/../../x", "", "a/"}) {
    const Exchange exchange = write("x", name);
    ASSERT_TRUE(exchange.failed()) << name;
    EXPECT_EQ(exchange.error->kind, ErrorKind::data);
  }
  EXPECT_TRUE(all().empty());
}

TEST_F(FileProducer, FollowsNoSymbolicLink) {
  fs::create_directories(folder / "secret");
  fs::create_directories(folder / "out");
  put("secret/victim", "old");
  fs::create_directory_symlink(folder / "secret", folder / "out/linked");
  fs::create_symlink(folder / "secret/victim", folder / "out/link.txt");
  open({{"fileName", "${header.id}"}}, "out");
  const Exchange through_folder = write("x", "linked/new");
  ASSERT_TRUE(through_folder.failed());
  EXPECT_EQ(through_folder.error->type, "ELOOP");
  EXPECT_TRUE(write("new", "link.txt").running());  // replaces the link itself
  EXPECT_EQ(content("secret/victim"), "old");
  EXPECT_EQ(content("out/link.txt"), "new");
  open({{"fileName", "again.txt"}, {"fileExist", "Append"}}, "out");
  fs::create_symlink(folder / "secret/victim", folder / "out/again.txt");
  EXPECT_TRUE(write("x").failed());
  EXPECT_EQ(content("secret/victim"), "old");
}

TEST_F(FileProducer, DoesWithAnExistingFileWhatItIsTold) {
  const auto twice = [&](Options options) {
    put("f.txt", "old");
    options.emplace_back("fileName", "f.txt");
    open(std::move(options));
    return write("new");
  };
  EXPECT_TRUE(twice({}).running());
  EXPECT_EQ(content("f.txt"), "new");
  const Exchange failed = twice({{"fileExist", "Fail"}});
  ASSERT_TRUE(failed.failed());
  EXPECT_EQ(failed.error->kind, ErrorKind::rejected);
  EXPECT_EQ(failed.error->type, "EEXIST");
  EXPECT_EQ(content("f.txt"), "old");
  EXPECT_TRUE(twice({{"fileExist", "Ignore"}}).running());
  EXPECT_EQ(content("f.txt"), "old");
  EXPECT_TRUE(twice({{"fileExist", "Append"}, {"appendChars", "\\n"}}).running());
  EXPECT_EQ(content("f.txt"), "oldnew\n");
  EXPECT_TRUE(twice({{"fileExist", "TryRename"}}).running());
  EXPECT_EQ(content("f.txt"), "new");
  EXPECT_TRUE(
      twice({{"fileExist", "Move"}, {"moveExisting", "old/${file:name.noext}-1.txt"}}).running());
  EXPECT_EQ(content("f.txt"), "new");
  EXPECT_EQ(content("old/f-1.txt"), "old");
  EXPECT_EQ(all(), (Names{"f.txt", "old/f-1.txt"}));
}

TEST_F(FileProducer, CreatesWhatIsMissingOnlyWhenAllowed) {
  open({{"fileName", "a/b/c"}, {"chmodDirectory", "700"}, {"chmod", "640"}}, "new/deep");
  ASSERT_TRUE(write("x").running());
  struct stat info{};
  ASSERT_EQ(::stat((folder / "new/deep/a/b/c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
  ASSERT_EQ(::stat((folder / "new/deep/a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);

  open({{"fileName", "a/x"}, {"autoCreate", "false"}});
  const Exchange no_folder = write("x");
  ASSERT_TRUE(no_folder.failed());
  EXPECT_EQ(no_folder.error->type, "ENOENT");
  open({{"fileName", "x"}, {"autoCreate", "false"}}, "missing");
  const Exchange no_directory = write("x");
  ASSERT_TRUE(no_directory.failed());
  EXPECT_EQ(no_directory.error->kind, ErrorKind::not_connected);
}

TEST_F(FileProducer, WritesTheDoneFileLast) {
  open({{"fileName", "a.txt"}, {"doneFileName", "${file:name}.done"}});
  write("x");
  EXPECT_EQ(all(), (Names{"a.txt", "a.txt.done"}));
}

TEST_F(FileProducer, FlattensWhenAsked) {
  open({{"fileName", "a/b/c.txt"}, {"flatten", "true"}});
  write("x");
  EXPECT_EQ(all(), Names{"c.txt"});
}

TEST_F(FileProducer, RefusesANullBodyUnlessAllowed) {
  open({{"fileName", "a"}});
  const Exchange refused = write(nullptr);
  ASSERT_TRUE(refused.failed());
  EXPECT_EQ(refused.error->kind, ErrorKind::data);
  open({{"fileName", "a"}, {"allowNullBody", "true"}});
  EXPECT_TRUE(write(nullptr).running());
  EXPECT_EQ(all(), Names{"a"});
}

TEST_F(FileProducer, FailsOnlyTheMessageWhoseFileFails) {
  open({{"fileName", "${header.id}"}});
  Batch batch;
  for (const char* name : {"a", "../b", "c"}) {
    batch.emplace_back(Message{Value("x"), {}});
    batch.back().message.headers.set("id", name);
  }
  Scope scope = harness.scope();
  harness.run(producer->run(batch, scope));
  EXPECT_TRUE(batch[0].running());
  EXPECT_TRUE(batch[1].failed());
  EXPECT_TRUE(batch[2].running());
  EXPECT_EQ(all(), (Names{"a", "c"}));
}

TEST_F(FileProducer, LeavesNothingBehindWhenItFails) {
  fs::create_directories(folder / "taken");
  open({{"fileName", "taken"}});
  EXPECT_TRUE(write("x").failed());
  EXPECT_TRUE(all().empty());
}

TEST_F(FileProducer, SweepsUpWhatAKilledProcessHasLeftHalfWritten) {
  put(".drom-0.tmp", "half");
  put(".drom-1.tmp", "young");
  put(".drom-2.txt", "not ours");
  const auto at = [&](const char* name, std::chrono::seconds wall) {
    const timespec times[2] = {{wall.count(), 0}, {wall.count(), 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder / name).c_str(), times, 0), 0);
  };
  const auto now = std::chrono::floor<std::chrono::seconds>(harness.now().time_since_epoch());
  at(".drom-0.tmp", now - std::chrono::minutes(5));
  at(".drom-1.tmp", now);
  at(".drom-2.txt", now - std::chrono::minutes(5));
  open({{"fileName", "a"}});
  ASSERT_TRUE(harness.run(producer->open()).ok());
  write("x");
  EXPECT_EQ(all(), (Names{".drom-1.tmp", ".drom-2.txt", "a"}));
}

TEST_F(FileProducer, WritesOverATemporaryFileThatAKilledProcessHasLeft) {
  put("uploading-a", "half");
  open({{"fileName", "a"}, {"tempPrefix", "uploading-"}});
  EXPECT_TRUE(write("whole").running());
  EXPECT_EQ(all(), Names{"a"});
  EXPECT_EQ(content("a"), "whole");
}

TEST_F(FileProducer, ComesBackWhenTheDirectoryWasReplaced) {
  open({{"fileName", "${header.id}"}}, "out");
  EXPECT_TRUE(write("x", "a").running());
  fs::remove_all(folder / "out");
  EXPECT_TRUE(write("x", "b").running());
  EXPECT_EQ(all(), Names{"out/b"});
}

TEST_F(FileProducer, KnowsWhatIsWorthARetry) {
  using file::io_error;
  EXPECT_EQ(io_error(ENOSPC, "write", "x").kind, ErrorKind::transient);
  EXPECT_EQ(io_error(EMFILE, "write", "x").kind, ErrorKind::transient);
  EXPECT_EQ(io_error(EACCES, "write", "x").kind, ErrorKind::rejected);
  EXPECT_EQ(io_error(EROFS, "write", "x").kind, ErrorKind::rejected);
  EXPECT_EQ(io_error(ESTALE, "write", "x").kind, ErrorKind::not_connected);
  EXPECT_EQ(io_error(ENOSPC, "write", "x").type, "ENOSPC");
}

TEST_F(FileProducer, DefersInATransactionUnlessToldNotTo) {
  open();
  EXPECT_TRUE(producer->defers_in_transaction());
  open({{"transacted", "false"}});
  EXPECT_FALSE(producer->defers_in_transaction());
}

TEST_F(FileProducer, WritesAStreamThatAppearsWhenItIsComplete) {
  open({{"fileName", "big"}});
  ASSERT_TRUE(producer->takes_streams());
  Exchange whole = testing::streamed(
      std::make_shared<testing::Pieces>(Names{std::string(300'000, 'a'), "b", "c"}));
  send(harness, *producer, whole);
  ASSERT_TRUE(whole.running());
  EXPECT_EQ(content("big"), std::string(300'000, 'a') + "bc");
  EXPECT_EQ(whole.message.headers.text("CamelFileNameProduced"), (folder / "big").string());

  const auto broken = std::make_shared<testing::Pieces>(Names{std::string(300'000, 'x')});
  broken->failure = Error(ErrorKind::transient, "the client is gone");
  Exchange half = testing::streamed(broken);
  send(harness, *producer, half);
  ASSERT_TRUE(half.failed());
  EXPECT_EQ(half.error->kind, ErrorKind::transient);
  EXPECT_EQ(content("big").size(), 300'002u);
  EXPECT_EQ(all(), Names{"big"});
}

TEST_F(FileProducer, KeepsAnExistingFileWithoutReadingTheStream) {
  put("big", "old");
  for (const std::string exist : {"Ignore", "Fail", "Override"}) {
    open({{"fileName", "big"}, {"fileExist", exist}});
    const auto stream = std::make_shared<testing::Pieces>(Names{"new"});
    Exchange exchange = testing::streamed(stream);
    send(harness, *producer, exchange);
    EXPECT_EQ(exchange.running(), exist != "Fail") << exist;
    EXPECT_EQ(stream->reads > 0, exist == "Override") << exist;
    EXPECT_EQ(content("big"), exist == "Override" ? "new" : "old");
  }
  open({{"fileName", "big"}, {"fileExist", "Append"}});
  EXPECT_FALSE(producer->takes_streams());
}

}  // namespace
}  // namespace drom
