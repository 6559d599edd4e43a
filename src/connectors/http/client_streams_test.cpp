// Answers that are passed on while they arrive, and requests out of streams.
#include <boost/asio/write.hpp>

#include "connectors/http/producer_fixture.hpp"
#include "support/gzip.hpp"
#include "support/pieces.hpp"

namespace drom::http {
namespace {

using drom::testing::pack;
using drom::testing::Pieces;

class HttpClientStreams : public ProducerFixture {
 protected:
  // Says more on the connection of the first request.
  void say(ScriptedServer& server, const std::string& text) {
    boost::asio::write(server.connections.front()->socket, boost::asio::buffer(text));
  }
  std::string next(BodyStream& stream) {
    const Result<std::string> piece = harness.run(stream.next());
    return piece ? *piece : std::string(to_string(piece.error().kind));
  }
  static Message with_stream(std::shared_ptr<BodyStream> stream) {
    Message out;
    out.stream = std::move(stream);
    return out;
  }
  static std::shared_ptr<Pieces> pieces(std::vector<std::string> all) {
    return std::make_shared<Pieces>(std::move(all));
  }
  const Options streaming{{"disableStreamCache", "true"}};
};

constexpr char kHalf[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc";

TEST_F(HttpClientStreams, PassAnAnswerOnBeforeItIsThere) {
  ScriptedServer& server = serve({kHalf, answer(200, "", "next")});
  Producer& producer = open(url(server), streaming);
  Exchange exchange = send(producer);
  ASSERT_TRUE(exchange.running()) << wrong(exchange);
  const std::shared_ptr<BodyStream> stream = exchange.message.stream;
  ASSERT_TRUE(stream);
  EXPECT_TRUE(exchange.message.body.is_null());
  EXPECT_EQ(exchange.message.headers.find("CamelHttpResponseCode")->to_int(), 200);
  EXPECT_EQ(stream->size(), 6u);
  EXPECT_TRUE(stream->rewind());
  EXPECT_EQ(next(*stream), "abc");
  EXPECT_FALSE(stream->rewind());
  say(server, "def");
  EXPECT_EQ(next(*stream), "def");
  EXPECT_EQ(next(*stream), "");
  EXPECT_EQ(next(*stream), "");
  EXPECT_EQ(send(producer).message.body.to_text(), "next");
  EXPECT_EQ(server.connections.size(), 1u);
}

TEST_F(HttpClientStreams, LeaveASmallAnswerInMemory) {
  const Exchange exchange = send_to(serve({answer(200, "", "small")}), streaming);
  EXPECT_FALSE(exchange.message.stream);
  EXPECT_EQ(exchange.message.body.to_text(), "small");
}

TEST_F(HttpClientStreams, KeepTheAnswerOfAFailureInMemory) {
  ScriptedServer& server = serve({"HTTP/1.1 500 X\r\nContent-Length: 6\r\n\r\nabc"});
  Producer& producer = open(url(server), streaming);
  harness.spawn([](ScriptedServer& s, Clock& clock) -> async<> {
    while (s.requests.empty()) co_await clock.sleep(milliseconds(10));
    boost::asio::write(s.connections.front()->socket, boost::asio::buffer("def", 3));
  }(server, harness.clock()));
  const Exchange exchange = send(producer);
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.properties.find("CamelHttpResponseBody")->to_text(), "abcdef");
}

TEST_F(HttpClientStreams, TellThatAnAnswerBrokeOff) {
  ScriptedServer& server = serve({kHalf, answer(200)});
  Producer& producer = open(url(server), streaming);
  Exchange exchange = send(producer);
  ASSERT_TRUE(exchange.message.stream);
  EXPECT_EQ(next(*exchange.message.stream), "abc");
  server.close_connections();
  EXPECT_EQ(next(*exchange.message.stream), "transient");
  EXPECT_TRUE(send(producer).running());
  EXPECT_EQ(server.connections.size(), 2u);
}

TEST_F(HttpClientStreams, GiveUpOnAnAnswerThatStops) {
  Options options = streaming;
  options.emplace_back("responseTimeout", "1500");
  ScriptedServer& server = serve({kHalf});
  Exchange exchange = send(open(url(server), options));
  ASSERT_TRUE(exchange.message.stream);
  harness.advance(std::chrono::seconds(60));  // nobody waits for the server yet
  EXPECT_EQ(next(*exchange.message.stream), "abc");
  EXPECT_EQ(next(*exchange.message.stream), "timeout");
}

TEST_F(HttpClientStreams, CloseAConnectionWhoseAnswerNobodyReads) {
  ScriptedServer& server = serve({kHalf, answer(200)});
  Options options = streaming;
  options.emplace_back("connectionsPerRoute", "1");
  Producer& producer = open(url(server), options);
  Exchange exchange = send(producer);
  ASSERT_TRUE(exchange.message.stream);
  exchange.message.stream.reset();
  EXPECT_TRUE(send(producer).running());  // its place is free again
  EXPECT_EQ(server.connections.size(), 2u);
}

TEST_F(HttpClientStreams, UnpackAnAnswerWhileItArrives) {
  const std::string packed = pack("hello, world");
  ScriptedServer& server =
      serve({"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: " +
             std::to_string(packed.size()) + "\r\n\r\n" + packed.substr(0, 15)});
  Exchange exchange = send(open(url(server), streaming));
  ASSERT_TRUE(exchange.message.stream) << wrong(exchange);
  EXPECT_FALSE(exchange.message.headers.find("Content-Encoding"));
  say(server, packed.substr(15));
  std::string all;
  for (std::string piece = next(*exchange.message.stream); !piece.empty();
       piece = next(*exchange.message.stream))
    all += piece;
  EXPECT_EQ(all, "hello, world");
}

TEST_F(HttpClientStreams, LimitWhatAnAnswerBrings) {
  Options options = streaming;
  options.emplace_back("maxResponseSize", "5");
  ScriptedServer& server =
      serve({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"});
  Exchange exchange = send(open(url(server), options));
  ASSERT_TRUE(exchange.message.stream) << wrong(exchange);
  EXPECT_EQ(next(*exchange.message.stream), "abc");
  say(server, "3\r\ndef\r\n");
  EXPECT_EQ(next(*exchange.message.stream), "rejected");
}

TEST_F(HttpClientStreams, SendARequestWithItsLengthOrInChunks) {
  ScriptedServer& server = serve({answer(200), answer(200)});
  Producer& producer = open(url(server));
  ASSERT_TRUE(producer.takes_streams());
  auto sized = pieces({"abc", "def"});
  sized->known_size = 6;
  EXPECT_TRUE(send(producer, with_stream(sized)).running());
  EXPECT_TRUE(send(producer, with_stream(pieces({"abc", "def"}))).running());
  EXPECT_TRUE(server.requests[0].starts_with("POST "));
  EXPECT_EQ(header(server.requests[0], "Content-Length"), "6");
  EXPECT_EQ(header(server.requests[0], "Content-Type"), "application/octet-stream");
  EXPECT_EQ(body_of(server.requests[0]), "abcdef");
  EXPECT_EQ(header(server.requests[1], "Transfer-Encoding"), "chunked");
  EXPECT_EQ(body_of(server.requests[1]), "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n");
}

TEST_F(HttpClientStreams, SendNoRequestTwiceWhoseStreamIsGone) {
  ScriptedServer& server = serve({answer(503), answer(200)});
  const Options options{{"httpMethod", "PUT"}, {"maxRetries", "3"}};
  const Exchange exchange = send(open(url(server), options), with_stream(pieces({"abc"})));
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::transient);
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST_F(HttpClientStreams, FollowNoRedirectThatWantsTheStreamAgain) {
  ScriptedServer& server = serve({answer(307, "Location: /b\r\n"), answer(200)});
  const Exchange exchange =
      send(open(url(server), {{"followRedirects", "true"}}), with_stream(pieces({"abc"})));
  ASSERT_TRUE(exchange.failed());
  EXPECT_EQ(exchange.error->kind, ErrorKind::rejected);
  EXPECT_EQ(server.requests.size(), 1u);
  ScriptedServer& other = serve({answer(303, "Location: /b\r\n"), answer(200)});
  EXPECT_TRUE(send(open(url(other), {{"followRedirects", "true"}}), with_stream(pieces({"abc"})))
                  .running());
}

TEST_F(HttpClientStreams, SendNoHalfRequest) {
  ScriptedServer& server = serve({answer(200)});
  auto broken = pieces({"abc"});
  broken->failure = Error(ErrorKind::transient, "the source is gone");
  const Exchange exchange = send(open(url(server)), with_stream(broken));
  ASSERT_TRUE(exchange.failed());
  EXPECT_NE(wrong(exchange).find("the source is gone"), std::string::npos);
  EXPECT_TRUE(server.requests.empty());
}

}  // namespace
}  // namespace drom::http
