// Requests that routes read while they arrive, and answers that are sent while they come to be.
#include "connectors/http/server_test_support.hpp"
#include "support/gzip.hpp"
#include "support/pieces.hpp"

namespace drom::http {
namespace {

using drom::testing::pack;
using drom::testing::Pieces;

// Keeps the request's stream, and answers when told to.
class StreamSink final : public RequestSink {
 public:
  void accept(std::shared_ptr<Responder> responder, Request& request,
              Router::Parameters&) override {
    ++seen;
    body = request.body;
    stream = std::move(request.stream);
    waiting = std::move(responder);
  }
  void answer(std::shared_ptr<BodyStream> with) {
    Reply reply;
    reply.stream = std::move(with);
    const std::shared_ptr<Responder> responder = std::move(waiting);
    responder->reply(std::move(reply));
  }
  int seen = 0;
  std::string body;
  std::shared_ptr<BodyStream> stream;
  std::shared_ptr<Responder> waiting;
};

class HttpServerStreams : public HttpServerTest {
 protected:
  ~HttpServerStreams() override {
    streams.waiting.reset();
    streams.stream.reset();
  }
  void listen(ServerSettings settings = {}) {
    start(settings);
    route->sink = &streams;
    route->streams = true;
  }
  // The next bytes, or the kind of the error.
  std::string next() {
    const Result<std::string> piece = harness.run(streams.stream->next());
    return piece ? *piece : std::string(to_string(piece.error().kind));
  }
  static std::shared_ptr<Pieces> pieces(std::vector<std::string> all) {
    return std::make_shared<Pieces>(std::move(all));
  }
  StreamSink streams;
};

constexpr char kChunkedPost[] = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_F(HttpServerStreams, HandsARequestOverBeforeItsBodyIsThere) {
  listen();
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc");
  ASSERT_EQ(streams.seen, 1);
  ASSERT_TRUE(streams.stream);
  EXPECT_EQ(streams.stream->size(), 6u);
  EXPECT_TRUE(streams.stream->rewind());
  EXPECT_EQ(next(), "abc");
  EXPECT_FALSE(streams.stream->rewind());
  c.send("def");
  EXPECT_EQ(next(), "def");
  EXPECT_EQ(next(), "");
  streams.answer(nullptr);
  EXPECT_EQ(c.reply().status, 200);
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n");  // the connection goes on
  EXPECT_EQ(streams.seen, 2);
}

TEST_F(HttpServerStreams, GivesABodyThatIsThereAsItIs) {
  listen();
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(streams.body, "abc");
  EXPECT_FALSE(streams.stream);
}

TEST_F(HttpServerStreams, ReadsNoFasterThanTheRoute) {
  listen();
  RawClient c = client();
  c.send(std::string(kChunkedPost) + "3\r\nabc\r\n");
  ASSERT_TRUE(streams.stream);
  EXPECT_EQ(streams.stream->size(), std::nullopt);
  c.send("3\r\ndef\r\n0\r\n\r\n");  // waits in the socket
  EXPECT_EQ(next(), "abc");
  EXPECT_EQ(next(), "def");
  EXPECT_EQ(next(), "");
}

TEST_F(HttpServerStreams, EndsABodyThatIsNoneOrTooLarge) {
  listen();
  route->body_bytes_max = 5;
  RawClient bad = client();
  bad.send(std::string(kChunkedPost) + "3\r\nabc\r\n");
  EXPECT_EQ(next(), "abc");
  bad.send("nonsense\r\n");
  EXPECT_EQ(next(), "data");
  streams.answer(nullptr);
  EXPECT_TRUE(bad.reply().has("Connection: close"));
  RawClient large = client();
  large.send(std::string(kChunkedPost) + "3\r\nabc\r\n");
  EXPECT_EQ(next(), "abc");
  large.send("3\r\ndef\r\n");
  EXPECT_EQ(next(), "data");
  RawClient announced = client();
  EXPECT_EQ(announced.ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n").status, 413);
}

TEST_F(HttpServerStreams, TellsThatTheClientIsGone) {
  listen();
  RawClient c = client();
  c.send(std::string(kChunkedPost) + "3\r\nabc\r\n");
  EXPECT_EQ(next(), "abc");
  c.close();
  EXPECT_EQ(next(), "transient");
  EXPECT_EQ(next(), "transient");
}

TEST_F(HttpServerStreams, GivesNoBytesOfTheNextRequestToTheOneBefore) {
  listen();
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab");
  const std::shared_ptr<BodyStream> first = streams.stream;
  EXPECT_EQ(next(), "ab");
  c.send("cd");
  EXPECT_EQ(next(), "cd");
  streams.answer(nullptr);
  EXPECT_EQ(c.reply().status, 200);
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nwx");
  EXPECT_FALSE(harness.run(first->next()));
  EXPECT_EQ(next(), "wx");
}

TEST_F(HttpServerStreams, EndsTheConnectionWhenTheBodyWasNotRead) {
  listen();
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 60\r\n\r\nabc");
  streams.answer(nullptr);
  EXPECT_TRUE(c.reply().has("Connection: close"));
  c.end_writing();
  EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerStreams, GivesUpOnATricklingBody) {
  ServerSettings settings;
  settings.body_timeout = seconds(2);
  listen(settings);
  RawClient c = client();
  c.send(std::string(kChunkedPost) + "1\r\na\r\n");
  EXPECT_EQ(next(), "a");
  harness.advance(seconds(60));  // the route takes its time: nobody waits for the client
  c.send("1\r\nb\r\n");
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(next(), "transient");  // the clock runs on while the client says nothing
}

TEST_F(HttpServerStreams, AsksForTheBodyThatWasAnnounced) {
  listen();
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.reply().status, 100);
  ASSERT_TRUE(streams.stream);
  c.send("ok");
  EXPECT_EQ(next(), "ok");
}

TEST_F(HttpServerStreams, UnpacksWhatArrives) {
  listen();
  const std::string packed = pack("hello, world");
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: " +
         std::to_string(packed.size()) + "\r\n\r\n" + packed.substr(0, 15));
  ASSERT_TRUE(streams.stream);
  EXPECT_EQ(streams.stream->size(), std::nullopt);
  c.send(packed.substr(15));
  std::string all;
  for (std::string piece = next(); !piece.empty(); piece = next()) all += piece;
  EXPECT_EQ(all, "hello, world");
  RawClient unknown = client();
  EXPECT_EQ(unknown
                .ask("POST /a HTTP/1.1\r\nHost: h\r\nContent-Encoding: lzma\r\n"
                     "Content-Length: 9\r\n\r\nabc")
                .status,
            415);
}

TEST_F(HttpServerStreams, SendsAnAnswerWhileItComesToBe) {
  listen();
  RawClient c = client();
  c.send(kGet);
  streams.answer(pieces({"hello", " world"}));
  EXPECT_EQ(c.until("0\r\n\r\n").substr(17 + 37),
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
  c.send(kGet);
  auto sized = pieces({"hello", " world"});
  sized->known_size = 11;
  streams.answer(sized);
  const RawReply reply = c.reply();
  EXPECT_TRUE(reply.has("Content-Length: 11"));
  EXPECT_EQ(reply.body, "hello world");
}

TEST_F(HttpServerStreams, EndsWithTheConnectionForAnOldClient) {
  listen();
  RawClient c = client();
  c.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  streams.answer(pieces({"hello", " world"}));
  const std::string all = c.until("world");
  EXPECT_NE(all.find("Connection: close\r\n\r\nhello world"), std::string::npos) << all;
  EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerStreams, SendsNoBodyToHead) {
  listen();
  route->methods.add(Method::head);
  RawClient c = client();
  c.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  auto sized = pieces({"hello"});
  sized->known_size = 5;
  streams.answer(sized);
  EXPECT_TRUE(c.reply(true).has("Content-Length: 5"));
  EXPECT_EQ(sized->reads, 0u);
  c.send(kGet);
  EXPECT_EQ(streams.seen, 2);
}

// The client must not take the first part for the whole.
TEST_F(HttpServerStreams, CutsAnAnswerOffThatBreaks) {
  listen();
  for (const bool sized : {false, true}) {
    RawClient c = client();
    c.send(kGet);
    auto broken = pieces({"half"});
    if (sized)
      broken->known_size = 8;
    else
      broken->failure = Error(ErrorKind::transient, "the source is gone");
    streams.answer(broken);
    const std::string all = c.until("half\r\n");
    EXPECT_NE(all.find("half"), std::string::npos);
    EXPECT_EQ(c.until("0\r\n\r\n"), "");
    EXPECT_TRUE(c.ended());
  }
  EXPECT_TRUE(harness.captured.contains("an answer was cut off: the source is gone"));
  EXPECT_TRUE(harness.captured.contains("an answer was cut off: its body became shorter"));
}

TEST_F(HttpServerStreams, SendsARequestBackWhileItArrives) {
  listen();
  RawClient c = client();
  c.send(std::string(kChunkedPost) + "3\r\nabc\r\n");
  streams.answer(streams.stream);
  EXPECT_NE(c.until("3\r\nabc\r\n").find("3\r\nabc\r\n"), std::string::npos);
  c.send("3\r\ndef\r\n");
  EXPECT_EQ(c.until("3\r\ndef\r\n"), "3\r\ndef\r\n");
  c.send("0\r\n\r\n");
  EXPECT_EQ(c.until("0\r\n\r\n"), "0\r\n\r\n");
}

}  // namespace
}  // namespace drom::http
