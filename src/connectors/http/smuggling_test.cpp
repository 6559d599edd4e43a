// The corpus of smuggling_cases_test.cpp against the server, in one piece and byte by byte.
#include <gtest/gtest.h>

#include "connectors/http/server.hpp"
#include "connectors/http/smuggling_test_support.hpp"
#include "support/raw_http.hpp"

namespace drom::http {
namespace {

using drom::testing::Harness;
using drom::testing::RawClient;
using drom::testing::RawReply;

class EchoSink final : public RequestSink {
 public:
  void accept(std::shared_ptr<Responder> responder, Request& request,
              Router::Parameters&) override {
    Reply reply;
    reply.body = Value("[" + std::string(to_string(request.method)) + " " + request.target + " " +
                       request.body + "]");
    responder->reply(std::move(reply));
  }
};

class SmugglingTest : public ::testing::Test {
 protected:
  SmugglingTest() {
    ServerSettings settings;
    settings.host = "127.0.0.1";
    settings.port = 0;
    server = std::make_shared<HttpServer>(harness.io(), harness.clock(), harness.log(), settings);
    route = std::make_shared<Route>();
    route->sink = &sink;
    route->path = "/a";
    route->prefix = true;
    route->methods.add(Method::get);
    route->methods.add(Method::post);
    EXPECT_TRUE(server->add(route));
    EXPECT_TRUE(harness.run(server->start()));
  }
  ~SmugglingTest() override { harness.run(server->stop()); }

  // Everything that the server says, and whether it goes on listening.
  std::string outcome(const std::vector<std::string_view>& pieces) {
    RawClient client(harness, server->port());
    for (const std::string_view piece : pieces) client.send(piece);
    std::string out;
    while (!client.silent()) {
      const RawReply reply = client.reply();
      if (reply.status == 0) return out + "close";
      if (reply.status != 100)
        out += (reply.body.starts_with('[') ? reply.body : std::to_string(reply.status)) + " ";
    }
    return out + "open";
  }

  void check(const std::vector<SmugglingCase>& cases) {
    for (const SmugglingCase& example : cases) {
      EXPECT_EQ(outcome({example.raw}), example.outcome) << example.name;
      if (example.raw.size() > 1000) continue;
      std::vector<std::string_view> bytes;
      for (size_t i = 0; i < example.raw.size(); ++i)
        bytes.push_back(std::string_view(example.raw).substr(i, 1));
      EXPECT_EQ(outcome(bytes), example.outcome) << example.name << ", byte by byte";
    }
    EXPECT_EQ(outcome({"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"}), "[GET /a ] open");
  }

  Harness harness;
  EchoSink sink;
  std::shared_ptr<HttpServer> server;
  std::shared_ptr<Route> route;
};

TEST_F(SmugglingTest, TwoLengthsAreRefused) { check(two_length_cases()); }
TEST_F(SmugglingTest, ALengthIsDigitsAlone) { check(content_length_cases()); }
TEST_F(SmugglingTest, ACodingIsChunkedAlone) { check(transfer_encoding_cases()); }
TEST_F(SmugglingTest, ChunksAreReadStrictly) { check(chunk_cases()); }
TEST_F(SmugglingTest, RequestLinesAreReadStrictly) { check(line_cases()); }
TEST_F(SmugglingTest, FieldsAreReadStrictly) { check(field_cases()); }
TEST_F(SmugglingTest, TargetsAreReadStrictly) { check(target_cases()); }
TEST_F(SmugglingTest, AConnectionEndsWithTheFirstRefusal) { check(connection_cases()); }

}  // namespace
}  // namespace drom::http
