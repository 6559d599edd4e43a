#include "connectors/http/message_reader.hpp"

#include <gtest/gtest.h>

namespace drom::http {
namespace {

using namespace std::string_literals;

// Feeds everything there is; the head alone does not take the body with it.
void feed(RequestReader& reader, std::string_view input) {
  while (true) {
    const size_t used = reader.consume(input);
    input.remove_prefix(used);
    if (used == 0 || reader.state() == ReadState::refused || reader.state() == ReadState::complete)
      return;
  }
}

int refusal_of(std::string_view input) {
  RequestReader reader(1024);
  feed(reader, input);
  return reader.state() == ReadState::refused ? reader.refusal().status : 0;
}

TEST(RequestReader, ReadsARequestWithABody) {
  RequestReader reader(1024);
  feed(reader, "POST /a?b=c HTTP/1.1\r\nHost: h\r\nX-Id:  7 \r\nContent-Length: 3\r\n\r\nxyz");
  ASSERT_EQ(reader.state(), ReadState::complete);
  const Request& request = reader.request();
  EXPECT_EQ(request.method, Method::post);
  EXPECT_EQ(request.path, "/a");
  EXPECT_EQ(request.query, "b=c");
  EXPECT_EQ(request.headers.text("x-id"), "7");
  EXPECT_EQ(request.headers.find("Content-Length"), nullptr);
  EXPECT_EQ(request.body, "xyz");
  EXPECT_TRUE(request.keep_alive);
}

TEST(RequestReader, ReadsByteByByte) {
  const std::string input =
      "\r\nPOST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\n"
      "X-Trailer: t\r\n\r\n";
  RequestReader reader(1024);
  std::string pending;
  for (const char c : input) {
    pending += c;
    pending.erase(0, reader.consume(pending));
    ASSERT_NE(reader.state(), ReadState::refused);
  }
  ASSERT_EQ(reader.state(), ReadState::complete);
  EXPECT_EQ(reader.request().body, "abc");
  EXPECT_EQ(reader.request().headers.find("X-Trailer"), nullptr);
}

TEST(RequestReader, LeavesTheNextRequestInTheInput) {
  RequestReader reader(1024);
  const std::string one = "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string two = "GET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  EXPECT_EQ(reader.consume(one + two), one.size());
  ASSERT_EQ(reader.state(), ReadState::complete);
  EXPECT_EQ(reader.request().target, "/1");
  reader.reset();
  feed(reader, two);
  ASSERT_EQ(reader.state(), ReadState::complete);
  EXPECT_EQ(reader.request().target, "/2");
  EXPECT_FALSE(reader.request().keep_alive);
}

TEST(RequestReader, DropsEngineNamesAndJoinsRepeatedHeaders) {
  RequestReader reader(1024);
  feed(reader,
       "GET / HTTP/1.1\r\nHost: h\r\nCamelHttpUri: http://evil\r\ncamelfilename: x\r\ndrom.a: b\r\n"
       "kafka.topic: t\r\nAccept: a\r\nAccept: b\r\nCookie: c=1\r\nCookie: d=2\r\n\r\n");
  ASSERT_EQ(reader.state(), ReadState::complete);
  const Headers& headers = reader.request().headers;
  EXPECT_EQ(headers.text("Accept"), "a, b");
  EXPECT_EQ(headers.text("Cookie"), "c=1; d=2");
  EXPECT_EQ(headers.size(), 3u);  // and Host
}

TEST(RequestReader, RefusesTwoFramings) {
  EXPECT_EQ(
      refusal_of(
          "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
      400);
  EXPECT_EQ(
      refusal_of(
          "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"),
      400);
  EXPECT_EQ(
      refusal_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"),
      400);
  EXPECT_EQ(
      refusal_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"),
      400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\n"), 400);
}

TEST(RequestReader, RefusesUnknownTransferEncodings) {
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            501);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n"), 501);
}

TEST(RequestReader, RefusesWhatParsersDisagreeAbout) {
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: h\r\nX: a\nY: b\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n"s), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET http://i/ HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(refusal_of("GET / HTTP/3.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(refusal_of("\x16\x03\x01\x02 hello\r\n\r\n"), 400);
  EXPECT_EQ(
      refusal_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n"),
      400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            400);
  EXPECT_EQ(refusal_of("POST / HTTP/1.1\r\nHost: h\r\nExpect: tea\r\n\r\n"), 417);
}

TEST(RequestReader, BoundsTheHead) {
  EXPECT_EQ(refusal_of("GET /" + std::string(2000, 'a')), 414);
  EXPECT_EQ(refusal_of("GET / HTTP/1.1\r\nX: " + std::string(2000, 'a')), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: h\r\n";
  for (int i = 0; i < 100; ++i) many += "X: y\r\n";
  RequestReader reader(64 * 1024);
  feed(reader, many + "\r\n");
  ASSERT_EQ(reader.state(), ReadState::refused);
  EXPECT_EQ(reader.refusal().status, 431);
}

TEST(RequestReader, BoundsTheBodyBeforeAndWhileReading) {
  RequestReader known(1024);
  known.consume("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
  EXPECT_FALSE(known.body_max(4));
  EXPECT_TRUE(known.body_max(5));
  feed(known, "12345");
  EXPECT_EQ(known.state(), ReadState::complete);

  RequestReader chunked(1024);
  chunked.consume("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_TRUE(chunked.body_max(4));
  feed(chunked, "4\r\n1234");
  EXPECT_EQ(chunked.state(), ReadState::body);
  feed(chunked, "\r\n1\r\n");  // the size is enough
  ASSERT_EQ(chunked.state(), ReadState::refused);
  EXPECT_EQ(chunked.refusal().status, 413);
}

TEST(ResponseReader, ReadsBodiesOfEachFraming) {
  ResponseReader sized(1024, 100, false);
  sized.consume(
      "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nok");
  ASSERT_EQ(sized.state(), ReadState::complete);
  EXPECT_EQ(sized.response().status, 201);
  EXPECT_EQ(sized.response().body, "ok");
  EXPECT_TRUE(sized.response().keep_alive);
  EXPECT_EQ(*sized.response().headers.find("Set-Cookie"), Value(List{"a", "b"}));

  ResponseReader chunked(1024, 100, false);
  chunked.consume("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n");
  ASSERT_EQ(chunked.state(), ReadState::complete);
  EXPECT_EQ(chunked.response().body, "a");

  ResponseReader until_end(1024, 100, false);
  until_end.consume("HTTP/1.0 200 OK\r\n\r\nabc");
  EXPECT_EQ(until_end.state(), ReadState::body);
  until_end.end();
  ASSERT_EQ(until_end.state(), ReadState::complete);
  EXPECT_EQ(until_end.response().body, "abc");
  EXPECT_FALSE(until_end.response().keep_alive);
}

TEST(ResponseReader, ExpectsNoBodyAfterHead) {
  ResponseReader reader(1024, 100, true);
  reader.consume("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
  EXPECT_EQ(reader.state(), ReadState::complete);
}

TEST(ResponseReader, RefusesACutOrTooLargeAnswer) {
  ResponseReader cut(1024, 100, false);
  cut.consume("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc");
  cut.end();
  EXPECT_EQ(cut.state(), ReadState::refused);
  ResponseReader large(1024, 4, false);
  large.consume("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde");
  EXPECT_EQ(large.state(), ReadState::refused);
  ResponseReader nothing(1024, 4, false);
  nothing.end();
  EXPECT_EQ(nothing.state(), ReadState::refused);
}

TEST(ResponseReader, DropsEngineNamesOfTheServer) {
  ResponseReader reader(1024, 4, false);
  reader.consume("HTTP/1.1 204 No Content\r\nCamelFileName: x\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_EQ(reader.state(), ReadState::complete);
  EXPECT_TRUE(reader.response().headers.empty());
}

}  // namespace
}  // namespace drom::http
