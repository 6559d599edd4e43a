// Bodies that are files, against a scripted server.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>
#include <thread>

#include <filesystem>
#include <fstream>

#include "connectors/http/producer_fixture.hpp"
#include "support/gzip.hpp"

namespace drom::http {
namespace {

using drom::testing::pack;

class HttpFiles : public ProducerFixture {
 protected:
  HttpFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "drom-http-XXXXXX").string();
    EXPECT_TRUE(::mkdtemp(name.data()));
    folder = name;
  }
  ~HttpFiles() override {
    producers.clear();
    harness.stop();
    std::filesystem::remove_all(folder);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
  }
  // All names in the folder, in order.
  std::string names() const {
    std::vector<std::string> all;
    for (const auto& each : std::filesystem::directory_iterator(folder))
      all.push_back(each.path().filename().string());
    std::sort(all.begin(), all.end());
    std::string out;
    for (const std::string& one : all) out += one + " ";
    return out;
  }
  Options upload(Options more = {}) const {
    more.emplace_back("uploadDirectory", folder);
    more.emplace_back("fileName", "${header.file}");
    return more;
  }
  Options download(Options more = {}) const {
    more.emplace_back("downloadDirectory", folder);
    more.emplace_back("fileName", "${header.file}");
    return more;
  }
  static Message named(const std::string& name) {
    Message out;
    out.headers.set("file", Value(name));
    return out;
  }
  static std::string large() {
    std::string out;
    for (int i = 0; out.size() < 2'000'000; ++i) out += std::to_string(i * 2654435761u);
    return out;
  }

  std::string folder;
};

TEST_F(HttpFiles, UploadsAFileWithItsLength) {
  ScriptedServer& server = serve({answer(201), answer(201)});
  const std::string content = large();
  write("a.bin", content);
  write("empty", "");
  const Exchange out = send_to(server, upload(), named("a.bin"));
  ASSERT_TRUE(out.running()) << wrong(out);
  const std::string& request = server.requests.at(0);
  EXPECT_TRUE(request.starts_with("POST "));
  EXPECT_EQ(header(request, "Content-Length"), std::to_string(content.size()));
  EXPECT_TRUE(body_of(request) == content);
  EXPECT_TRUE(send_to(server, upload(), named("empty")).running());
  EXPECT_EQ(header(server.requests.at(1), "Content-Length"), "0");
}

TEST_F(HttpFiles, UploadsAFileInChunksAndAgainAfterAFailure) {
  ScriptedServer& server = serve({answer(503), answer(201)});
  write("a.bin", std::string(300'000, 'x'));
  const Exchange out =
      send_to(server, upload({{"chunked", "true"}, {"httpMethod", "PUT"}, {"maxRetries", "1"}}),
              named("a.bin"));
  ASSERT_TRUE(out.running()) << wrong(out);
  ASSERT_EQ(server.requests.size(), 2u);
  EXPECT_EQ(body_of(server.requests[1]), "40000\r\n" + std::string(262'144, 'x') + "\r\n93e0\r\n" +
                                             std::string(37'856, 'x') + "\r\n0\r\n\r\n");
}

TEST_F(HttpFiles, SendsNothingFromOutsideTheDirectory) {
  ScriptedServer& server = serve({});
  ASSERT_EQ(::symlink("/etc/passwd", (folder + "/link").c_str()), 0);
  for (const char* name : {"/etc/passwd", "../x", "a/../../x", "link", "missing", ""}) {
    const Exchange out = send_to(server, upload(), named(name));
    ASSERT_TRUE(out.failed()) << name;
    EXPECT_FALSE(out.error->kind == ErrorKind::bug);
  }
  EXPECT_TRUE(server.connections.empty());
}

TEST_F(HttpFiles, SweepsUpWhatAKilledProcessHasLeftHalfDownloaded) {
  ScriptedServer& server = serve({answer(200, "", "x")});
  write(".drom-1.tmp", "half");
  write(".drom-2.tmp", "young");
  write("kept.tmp", "not ours");
  const auto minutes_ago = [&](const char* name, int minutes) {
    const auto wall = std::chrono::floor<std::chrono::seconds>(harness.now().time_since_epoch());
    const timespec at{wall.count() - minutes * 60, 0};
    const timespec times[2] = {at, at};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder + "/" + name).c_str(), times, 0), 0);
  };
  minutes_ago(".drom-1.tmp", 5);
  minutes_ago(".drom-2.tmp", 0);
  minutes_ago("kept.tmp", 5);
  const Exchange out = send_to(server, download(), named("a"));
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(names(), ".drom-2.tmp a kept.tmp ");
}

TEST_F(HttpFiles, DownloadsWhileTheAnswerArrives) {
  const std::string content = large();
  ScriptedServer& server = serve({answer(200, "x-a: 1\r\n", content)});
  const Exchange out = send_to(server, download({{"maxResponseSize", "1GB"}}), named("sub/a.bin"));
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_TRUE(read("sub/a.bin") == content);
  EXPECT_EQ(out.message.body.to_text(), folder + "/sub/a.bin");
  EXPECT_EQ(out.message.headers.find("CamelFileLength")->to_int(),
            static_cast<int64_t>(content.size()));
  EXPECT_EQ(out.message.headers.text("x-a"), "1");
  EXPECT_EQ(names(), "sub ");
}

TEST_F(HttpFiles, UnpacksAndReadsChunksOnTheWay) {
  const std::string content = large();
  const std::string packed = pack(content);
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", packed.size());
  ScriptedServer& server =
      serve({"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n" +
             std::string(size) + packed + "\r\n0\r\n\r\n"});
  const Exchange out = send_to(server, download(), named("a.txt"));
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_TRUE(read("a.txt") == content);
  EXPECT_FALSE(out.message.headers.find("Content-Encoding"));
}

TEST_F(HttpFiles, LeavesNoHalfFile) {
  write("a.txt", "old");
  ScriptedServer& server =
      serve({"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf",
             answer(404, "", "no such file"), answer(200, "", std::string(2000, 'x')),
             answer(200, "Content-Encoding: gzip\r\n", pack(std::string(30'000'000, '\0')))});
  const Options small = download({{"maxResponseSize", "1KB"}, {"responseTimeout", "2s"}});
  const Exchange half = send_to(server, small, named("a.txt"));
  EXPECT_TRUE(half.failed());
  const Exchange missing = send_to(server, small, named("a.txt"));
  ASSERT_TRUE(missing.failed());
  EXPECT_EQ(missing.properties.find("CamelHttpResponseBody")->to_text(), "no such file");
  const Exchange too_large = send_to(server, small, named("a.txt"));
  ASSERT_TRUE(too_large.failed());
  EXPECT_EQ(too_large.error->kind, ErrorKind::rejected);
  const Exchange bomb = send_to(server, download(), named("a.txt"));
  ASSERT_TRUE(bomb.failed());
  EXPECT_NE(bomb.error->message().find("beyond the limit"), std::string::npos) << wrong(bomb);
  producers.clear();
  harness.settle();
  EXPECT_EQ(read("a.txt"), "old");
  // Half files are removed beside us.
  for (int i = 0; i < 1'000'000 && names() != "a.txt "; ++i) std::this_thread::yield();
  EXPECT_EQ(names(), "a.txt ");
}

TEST_F(HttpFiles, StartsTheFileAnewWithEveryAttempt) {
  ScriptedServer& server =
      serve({"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + std::string(600'000, 'x'),
             answer(200, "", "short")});
  const Exchange out =
      send_to(server, download({{"maxRetries", "1"}, {"responseTimeout", "2s"}}), named("a.txt"));
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(read("a.txt"), "short");
}

TEST_F(HttpFiles, RefusesOptionsThatCannotBeMeant) {
  EXPECT_FALSE(drom::testing::try_endpoint(harness, "http",
                                           {{"httpUri", "http://h"}, {"uploadDirectory", folder}}));
  EXPECT_FALSE(drom::testing::try_endpoint(
      harness, "http", upload({{"httpUri", "http://h"}, {"multipartUpload", "true"}})));
}

}  // namespace
}  // namespace drom::http
