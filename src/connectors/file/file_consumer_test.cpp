#include "connectors/file/file_fixture.hpp"
#include "spi/memory_idempotent_repository.hpp"

namespace drom {
namespace {

using std::chrono::seconds;
using testing::Options;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class FileConsumer : public testing::FileFixture {
 protected:
  void open(Options options = {}) {
    source = endpoint(std::move(options));
    consumer = source->make_consumer().value();
    Result<void> opened = harness.run(consumer->open());
    ASSERT_TRUE(opened.ok()) << opened.error().message();
  }
  // What the next look finds; empty when it finds nothing.
  Batch poll(size_t max = 100) {
    Result<Batch> polled = harness.run(consumer->poll(max));
    EXPECT_TRUE(polled.ok()) << (polled.ok() ? "" : polled.error().message());
    return polled.ok() ? std::move(*polled) : Batch();
  }
  void settle(Batch batch, Outcome outcome) {
    std::vector<Receipt> receipts;
    for (Exchange& exchange : batch) receipts.push_back(Receipt{std::move(exchange), outcome});
    ASSERT_TRUE(harness.run(consumer->settle(std::move(receipts))).ok());
  }
  static Names names(const Batch& batch) {
    Names out;
    for (const Exchange& exchange : batch)
      out.emplace_back(exchange.message.headers.text("CamelFileName"));
    return out;
  }

  std::unique_ptr<Endpoint> source;
  std::unique_ptr<Consumer> consumer;
};

TEST_F(FileConsumer, ReadsAFileAndMovesItAwayWhenTheRouteIsDone) {
  put("a.txt", "hello");
  open();
  Batch batch = poll();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].message.body, Value(Bytes("hello")));
  EXPECT_EQ(all(), (Names{"a.txt", "a.txt.camelLock"}));
  settle(std::move(batch), Outcome::done);
  EXPECT_EQ(all(), Names{".camel/a.txt"});
  EXPECT_TRUE(poll().empty());
}

TEST_F(FileConsumer, TellsNameAndAttributesInHeaders) {
  put("sub/a.txt", "hello");
  open({{"recursive", "true"}});
  const Batch batch = poll();
  ASSERT_EQ(batch.size(), 1u);
  const Headers& headers = batch[0].message.headers;
  EXPECT_EQ(headers.text("CamelFileName"), "sub/a.txt");
  EXPECT_EQ(headers.text("CamelFileNameOnly"), "a.txt");
  EXPECT_EQ(headers.text("CamelFileAbsolutePath"), (folder / "sub/a.txt").string());
  EXPECT_EQ(headers.text("CamelFileParent"), (folder / "sub").string());
  EXPECT_EQ(*headers.find("CamelFileLength"), Value(5));
  EXPECT_TRUE(headers.find("CamelFileLastModified")->is_int());
}

TEST_F(FileConsumer, KeepsToDelayAndInitialDelay) {
  open({{"initialDelay", "3s"}, {"delay", "10s"}});
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), seconds(3));
  put("a.txt");
  EXPECT_EQ(poll().size(), 1u);
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), seconds(13));
}

TEST_F(FileConsumer, StopsWaitingAtOnce) {
  open({{"initialDelay", "1h"}});
  consumer->stop();
  consumer->stop();
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(harness.manual_clock.steady().time_since_epoch(), seconds(0));
}

TEST_F(FileConsumer, LeavesAFailedFileInPlaceAndTriesItAgainWithGrowingPauses) {
  put("a.txt");
  open({{"initialDelay", "0"}, {"delay", "1s"}, {"retryDelay", "10s"}});
  const auto due_after_failure = [&] {
    Batch batch;
    while (batch.empty()) batch = poll();
    const auto at = harness.manual_clock.steady().time_since_epoch();
    settle(std::move(batch), Outcome::failed);
    return std::chrono::duration_cast<seconds>(at).count();
  };
  EXPECT_EQ(due_after_failure(), 0);
  EXPECT_EQ(due_after_failure(), 10);
  EXPECT_EQ(due_after_failure(), 30);
  EXPECT_EQ(due_after_failure(), 70);
  EXPECT_EQ(due_after_failure(), 130);
  EXPECT_EQ(all(), Names{"a.txt"});
}

TEST_F(FileConsumer, MovesAFailedFileWhereAsked) {
  put("a.txt");
  open({{"moveFailed", ".failed/${file:name.noext}-bad.${file:ext}"}});
  settle(poll(), Outcome::failed);
  EXPECT_EQ(all(), Names{".failed/a-bad.txt"});
}

TEST_F(FileConsumer, GivesAReleasedFileAgainAtOnce) {
  put("a.txt");
  open();
  settle(poll(), Outcome::released);
  EXPECT_EQ(all(), Names{"a.txt"});
  EXPECT_EQ(poll().size(), 1u);
}

TEST_F(FileConsumer, DeletesOrKeepsWhenAsked) {
  put("a.txt");
  open({{"delete", "true"}});
  settle(poll(), Outcome::done);
  EXPECT_TRUE(all().empty());
  put("b.txt");
  open({{"noop", "true"}});
  settle(poll(), Outcome::done);
  EXPECT_EQ(all(), Names{"b.txt"});
  EXPECT_TRUE(poll().empty());
}

TEST_F(FileConsumer, MovesByExpressionAndToOtherFolders) {
  put("a.txt", "1");
  open({{"move", "done/${header.kind}-${file:name}"}});
  Batch batch = poll();
  batch[0].message.headers.set("kind", "order");
  settle(std::move(batch), Outcome::done);
  EXPECT_EQ(all(), Names{"done/order-a.txt"});

  put("in/b.txt", "2");
  source = endpoint({{"move", "../elsewhere"}}, "in");
  consumer = source->make_consumer().value();
  ASSERT_TRUE(harness.run(consumer->open()).ok());
  settle(poll(), Outcome::done);
  EXPECT_TRUE(exists("elsewhere/b.txt"));
}

TEST_F(FileConsumer, NeverMovesOutOfTheDirectoryByWhatAMessageSays) {
  put("in/a.txt");
  source = endpoint({{"move", "done/${header.where}"}}, "in");
  consumer = source->make_consumer().value();
  ASSERT_TRUE(harness.run(consumer->open()).ok());
  Batch batch = poll();
  batch[0].message.headers.set("where", "../../stolen.txt");
  settle(std::move(batch), Outcome::done);
  EXPECT_EQ(all(), Names{"in/.camel/a.txt"});
  EXPECT_TRUE(harness.captured.contains("leaves the directory"));
}

TEST_F(FileConsumer, KeepsTheKeyAndTheNameOfTheFileWhateverTheRouteDoesToHeaders) {  // C18
  put("a.csv");
  auto repository = make_memory_idempotent_repository(100);
  harness.registry().bind<IdempotentRepository>("seen", repository);
  open({{"noop", "true"},
        {"idempotentKey", "${header.CamelFileName}"},
        {"idempotentRepository", "#seen"},
        {"retryDelay", "0"}});
  for (const Outcome outcome : {Outcome::failed, Outcome::done}) {
    Batch batch = poll();
    ASSERT_EQ(batch.size(), 1u);
    batch[0].message.headers.set("CamelFileName", "x.tmp");
    batch[0].serial = 77;  // the engine numbers exchanges after the poll
    settle(std::move(batch), outcome);
  }
  EXPECT_TRUE(poll().empty());
  const std::string uri = source->uri();
  EXPECT_TRUE(harness.run(repository->contains(uri, "a.csv")).value());
  EXPECT_FALSE(harness.run(repository->contains(uri, "x.tmp")).value());
}

TEST_F(FileConsumer, FiltersByNamePatternExtensionAndDepth) {
  for (const char* name : {"order-1.xml", "order-2.XML", "note.txt", ".hidden.xml",
                           "sub/order-3.xml", "sub/deep/order-4.xml", "old/order-5.xml"})
    put(name);
  const auto found = [&](Options options) {
    options.emplace_back("noop", "true");
    options.emplace_back("idempotent", "false");
    options.emplace_back("readLock", "none");
    open(std::move(options));
    return names(poll());
  };
  EXPECT_EQ(found({}), (Names{"note.txt", "order-1.xml", "order-2.XML"}));
  EXPECT_EQ(found({{"include", "order-.*\\.xml"}}), (Names{"order-1.xml", "order-2.XML"}));
  EXPECT_EQ(found({{"exclude", "order.*"}}), Names{"note.txt"});
  EXPECT_EQ(found({{"includeExt", "txt,csv"}}), Names{"note.txt"});
  EXPECT_EQ(found({{"excludeExt", ".txt"}}), (Names{"order-1.xml", "order-2.XML"}));
  EXPECT_EQ(found({{"fileName", "note.txt"}}), Names{"note.txt"});
  EXPECT_EQ(found({{"recursive", "true"}, {"antInclude", "**/*.xml"}, {"antExclude", "old/**"}}),
            (Names{"order-1.xml", "sub/deep/order-4.xml", "sub/order-3.xml"}));
  EXPECT_EQ(found({{"recursive", "true"}, {"minDepth", "2"}, {"maxDepth", "2"}}),
            (Names{"old/order-5.xml", "sub/order-3.xml"}));
  EXPECT_EQ(found({{"includeHiddenFiles", "true"}, {"includeExt", "xml"}}),
            (Names{".hidden.xml", "order-1.xml", "order-2.XML"}));
}

TEST_F(FileConsumer, SortsAndLimitsEachLook) {
  put("b", "22");
  put("a", "333");
  put("c", "1");
  fs::last_write_time(folder / "a", fs::file_time_type::clock::now() + seconds(20));
  fs::last_write_time(folder / "b", fs::file_time_type::clock::now() + seconds(10));
  const auto order = [&](const char* by) {
    open({{"noop", "true"}, {"readLock", "none"}, {"idempotent", "false"}, {"sortBy", by}});
    return names(poll());
  };
  EXPECT_EQ(order("file:name"), (Names{"a", "b", "c"}));
  EXPECT_EQ(order("reverse:file:name"), (Names{"c", "b", "a"}));
  EXPECT_EQ(order("file:modified"), (Names{"c", "b", "a"}));
  EXPECT_EQ(order("file:length"), (Names{"c", "b", "a"}));
  EXPECT_EQ(order("modified"), (Names{"c", "b", "a"}));
  open({{"maxMessagesPerPoll", "2"}, {"readLock", "none"}});
  Batch first = poll();
  EXPECT_EQ(names(first), (Names{"a", "b"}));
  settle(std::move(first), Outcome::done);
  EXPECT_EQ(names(poll()), Names{"c"});
}

TEST_F(FileConsumer, DoesNotReadWhatItHasMovedAgain) {
  put("a.txt");
  open({{"recursive", "true"}, {"move", "done"}});
  settle(poll(), Outcome::done);
  EXPECT_EQ(all(), Names{"done/a.txt"});
  EXPECT_TRUE(poll().empty());
}

TEST_F(FileConsumer, FollowsNoSymbolicLink) {
  put("secret/key", "K1SECRET");
  put("in/plain.txt");
  fs::create_symlink(folder / "secret/key", folder / "in/link.txt");
  fs::create_directory_symlink(folder / "secret", folder / "in/linked");
  source = endpoint({{"recursive", "true"}}, "in");
  consumer = source->make_consumer().value();
  ASSERT_TRUE(harness.run(consumer->open()).ok());
  EXPECT_EQ(names(poll()), Names{"plain.txt"});
}

TEST_F(FileConsumer, WaitsForTheDoneFileAndDeletesItAfterwards) {
  put("a.txt");
  put("b.txt");
  open({{"doneFileName", "${file:name}.done"}});
  EXPECT_TRUE(poll().empty());
  put("b.txt.done");
  Batch batch = poll();
  EXPECT_EQ(names(batch), Names{"b.txt"});
  settle(std::move(batch), Outcome::done);
  EXPECT_EQ(all(), (Names{".camel/b.txt", "a.txt"}));
}

TEST_F(FileConsumer, KeepsAFixedDoneFileUntilTheLastFile) {
  put("a.txt");
  put("b.txt");
  put("ready");
  open({{"doneFileName", "ready"}});
  Batch first = poll(1);
  Batch second = poll(1);
  settle(std::move(first), Outcome::done);
  EXPECT_TRUE(exists("ready"));
  settle(std::move(second), Outcome::done);
  EXPECT_EQ(all(), (Names{".camel/a.txt", ".camel/b.txt"}));
}

TEST_F(FileConsumer, LeavesAFileToTheConsumerThatHasItsMarker) {
  put("a.txt");
  open();
  auto other_source = endpoint();
  auto other = other_source->make_consumer().value();
  ASSERT_TRUE(harness.run(other->open()).ok());
  Batch mine = poll();
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_TRUE(harness.run(other->poll(10)).value().empty());
  settle(std::move(mine), Outcome::released);
  EXPECT_EQ(harness.run(other->poll(10)).value().size(), 1u);
}

TEST_F(FileConsumer, RespectsTheMarkerOfAnotherProgram) {
  put("a.txt");
  open();
  put("a.txt.camelLock", "");
  EXPECT_TRUE(poll().empty());
  fs::remove(folder / "a.txt.camelLock");
  EXPECT_EQ(poll().size(), 1u);
}

TEST_F(FileConsumer, TakesUpWhatAKilledProcessHasLeft) {
  put("a.txt");
  open();
  ASSERT_EQ(poll().size(), 1u);
  consumer.reset();  // gone without settling: marker and file are still there
  EXPECT_EQ(all(), (Names{"a.txt", "a.txt.camelLock"}));
  open();
  Batch again = poll();
  ASSERT_EQ(again.size(), 1u);
  settle(std::move(again), Outcome::done);
  EXPECT_EQ(all(), Names{".camel/a.txt"});
}

TEST_F(FileConsumer, TakesOverTheMarkerOfADeadProcessWhileRunning) {
  put("a.txt");
  auto other_source = endpoint();
  auto other = other_source->make_consumer().value();
  ASSERT_TRUE(harness.run(other->open()).ok());
  ASSERT_EQ(harness.run(other->poll(10)).value().size(), 1u);
  open();
  EXPECT_TRUE(poll().empty());
  other.reset();
  EXPECT_EQ(poll().size(), 1u);
}

TEST_F(FileConsumer, MovesAsideFirstAndBringsBackAfterAKill) {
  put("a.txt", "hello");
  open({{"preMove", ".inprogress"}});
  Batch batch = poll();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].message.body, Value(Bytes("hello")));
  EXPECT_EQ(batch[0].message.headers.text("CamelFileName"), "a.txt");
  EXPECT_EQ(all(), (Names{".inprogress/a.txt", "a.txt.camelLock"}));
  consumer.reset();  // killed
  open({{"preMove", ".inprogress"}});
  EXPECT_EQ(all(), Names{"a.txt"});
  settle(poll(), Outcome::failed);
  EXPECT_EQ(all(), Names{"a.txt"});
  harness.advance(seconds(60));
  settle(poll(), Outcome::done);
  EXPECT_EQ(all(), Names{".camel/a.txt"});
}

TEST_F(FileConsumer, LeavesAsideWhatALivingProcessHasMovedAside) {
  put("a.txt");
  open({{"preMove", ".inprogress"}});
  Batch mine = poll();
  auto other_source = endpoint({{"preMove", ".inprogress"}});
  auto other = other_source->make_consumer().value();
  ASSERT_TRUE(harness.run(other->open()).ok());
  EXPECT_TRUE(exists(".inprogress/a.txt"));
  settle(std::move(mine), Outcome::done);
  EXPECT_EQ(all(), Names{".camel/a.txt"});
}

TEST_F(FileConsumer, BringsBackAFileThatWasBeingProbed) {
  put("a.txt.camelExclusiveReadLock");
  open({{"readLock", "rename"}});
  EXPECT_EQ(names(poll()), Names{"a.txt"});
}

TEST_F(FileConsumer, WaitsUntilAGrowingFileStandsStill) {
  put("a.txt", "1");
  open({{"readLock", "changed"}, {"readLockCheckInterval", "2s"}, {"delay", "1s"}});
  EXPECT_TRUE(poll().empty());
  EXPECT_TRUE(poll().empty());
  put("a.txt", "12");
  EXPECT_TRUE(poll().empty());
  EXPECT_TRUE(poll().empty());
  Batch batch = poll();
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].message.body, Value(Bytes("12")));
}

TEST_F(FileConsumer, FailsAFileThatIsTooLargeOrNoText) {
  put("big.txt", std::string(2000, 'x'));
  put("latin.txt", "caf\xE9");
  put("ok.txt", "caf\xC3\xA9");
  open({{"maxBodySize", "1000"}, {"charset", "utf-8"}, {"moveFailed", "bad"}});
  Batch batch = poll();
  ASSERT_EQ(batch.size(), 3u);
  ASSERT_TRUE(batch[0].failed());
  EXPECT_EQ(batch[0].error->kind, ErrorKind::data);
  ASSERT_TRUE(batch[1].failed());
  EXPECT_EQ(batch[1].message.body, Value(Bytes("caf\xE9")));
  EXPECT_TRUE(batch[2].running());
  EXPECT_EQ(batch[2].message.body, Value("caf\xC3\xA9"));
  settle(std::move(batch), Outcome::failed);
  EXPECT_EQ(all(), (Names{"bad/big.txt", "bad/latin.txt", "bad/ok.txt"}));
}

TEST_F(FileConsumer, DoesNotHandleAFileTwiceThatCouldNotBePutAway) {
  put("a.txt");
  put("done", "a file where the folder should be");
  open({{"move", "done"}, {"include", "a.txt"}, {"delay", "1s"}, {"retryDelay", "1s"}});
  settle(poll(), Outcome::done);
  EXPECT_TRUE(harness.captured.contains("could not be put away"));
  EXPECT_TRUE(exists("a.txt"));
  EXPECT_TRUE(poll().empty());
  fs::remove(folder / "done");
  EXPECT_TRUE(poll().empty());
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(all(), Names{"done/a.txt"});
  put("a.txt");
  EXPECT_EQ(poll().size(), 1u);
}

TEST_F(FileConsumer, SaysThatTheDirectoryIsNotThere) {
  auto missing = endpoint({{"autoCreate", "false"}}, "missing");
  auto absent = missing->make_consumer().value();
  Result<void> opened = harness.run(absent->open());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().kind, ErrorKind::not_connected);

  source = endpoint({}, "made");
  consumer = source->make_consumer().value();
  ASSERT_TRUE(harness.run(consumer->open()).ok());
  fs::remove(folder / "made");
  Result<Batch> polled = harness.run(consumer->poll(1));
  ASSERT_FALSE(polled.ok());
  EXPECT_EQ(polled.error().kind, ErrorKind::not_connected);
}

TEST_F(FileConsumer, RefusesContradictingOptions) {
  const auto refused = [&](Options options) {
    options.emplace_back("directoryName", folder.string());
    const auto made = testing::try_endpoint(harness, "file", options);
    EXPECT_TRUE(made.ok() || made.error().kind == ErrorKind::config);
    return !made.ok();
  };
  EXPECT_FALSE(refused({}));
  EXPECT_TRUE(refused({{"noop", "true"}, {"delete", "true"}}));
  EXPECT_TRUE(refused({{"noop", "true"}, {"move", "x"}}));
  EXPECT_TRUE(refused({{"delete", "true"}, {"move", "x"}}));
  EXPECT_TRUE(refused({{"include", "("}}));
  EXPECT_TRUE(refused({{"sortBy", "file:nmae"}}));
  EXPECT_TRUE(refused({{"idempotentRepository", "#nobody"}, {"idempotent", "true"}}));
  EXPECT_TRUE(refused({{"doneFileName", "${file:name}"}}));
  EXPECT_TRUE(refused({{"fileExist", "Move"}}));
  EXPECT_TRUE(refused({{"moveExisting", "old"}}));
  EXPECT_TRUE(refused({{"chmod", "rw"}}));
  EXPECT_TRUE(refused({{"chmod", "4755"}}));
  EXPECT_TRUE(refused({{"tempPrefix", "a/b"}}));
  EXPECT_TRUE(refused({{"fileName", "${header.x"}}));
}

}  // namespace
}  // namespace drom
