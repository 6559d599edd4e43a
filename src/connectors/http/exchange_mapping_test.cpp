#include "connectors/http/exchange_mapping.hpp"

#include <gtest/gtest.h>

#include "drom/base/json.hpp"
#include "support/harness.hpp"

namespace drom::http {
namespace {

class ExchangeMapping : public ::testing::Test {
 protected:
  // The message of a request whose head is `lines`.
  bool receive(const std::string& lines, const std::string& body = {},
               Router::Parameters parameters = {}) {
    RequestReader reader(4096);
    const std::string length =
        body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
    std::string input = lines + "Host: shop\r\n" + length + "\r\n" + body;
    input.erase(0, reader.consume(input));
    reader.consume(input);
    EXPECT_EQ(reader.state(), ReadState::complete);
    message = Message();
    const bool good = fill_message(message, reader.request(), parameters, "http");
    marks.note(message.headers);
    return good;
  }
  void answer() { write_answer(out, std::move(message), marks, rules, log); }
  bool says(std::string_view line) const {
    return ("\r\n" + out.lines).find("\r\n" + std::string(line) + "\r\n") != std::string::npos;
  }

  Message message;
  RequestMarks marks;
  AnswerRules rules;
  Answer out;
  testing::CapturedLog log;
};

TEST_F(ExchangeMapping, MakesHeadersOfPathAndQuery) {
  ASSERT_TRUE(
      receive("GET /orders/7?size=10&name=a+b%26&size=11&id=8 HTTP/1.1\r\n", "", {{"id", "7"}}));
  EXPECT_EQ(message.headers.text("id"), "7");
  EXPECT_EQ(message.headers.text("size"), "10");
  EXPECT_EQ(message.headers.text("name"), "a b&");
  EXPECT_EQ(message.headers.text("CamelHttpMethod"), "GET");
  EXPECT_EQ(message.headers.text("CamelHttpPath"), "/orders/7");
  EXPECT_EQ(message.headers.text("CamelHttpQuery"), "size=10&name=a+b%26&size=11&id=8");
  EXPECT_EQ(message.headers.text("CamelHttpUri"), "/orders/7?size=10&name=a+b%26&size=11&id=8");
  EXPECT_EQ(message.headers.text("CamelHttpUrl"),
            "http://shop/orders/7?size=10&name=a+b%26&size=11&id=8");
  EXPECT_TRUE(message.body.is_null());
}

TEST_F(ExchangeMapping, LetsNoQueryWriteEngineOrContentHeaders) {
  ASSERT_TRUE(
      receive("GET /?CamelHttpResponseCode=500&Content-Type=text/html&Host=evil HTTP/1.1\r\n"));
  EXPECT_EQ(message.headers.find("CamelHttpResponseCode"), nullptr);
  EXPECT_EQ(message.headers.find("Content-Type"), nullptr);
  EXPECT_EQ(message.headers.text("Host"), "shop");
  EXPECT_FALSE(receive("GET /?a=%0d%0aX HTTP/1.1\r\n"));
  EXPECT_FALSE(receive("GET /?a=%zz HTTP/1.1\r\n"));
}

TEST_F(ExchangeMapping, SendsBackOnlyWhatTheRouteHasSet) {
  ASSERT_TRUE(
      receive("GET /?Location=http://evil HTTP/1.1\r\nAuthorization: Bearer x\r\nX-Id: 1\r\n"));
  message.headers.set("X-New", Value("n"));
  message.headers.set("X-Id", Value("2"));
  message.headers.set("kafka.topic", Value("t"));
  message.headers.set("Transfer-Encoding", Value("chunked"));
  message.headers.set("X-Bad", Value("a\r\nSet-Cookie: b"));
  message.body = Value("hello");
  answer();
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.lines, "X-Id: 2\r\nX-New: n\r\nContent-Type: text/plain; charset=utf-8\r\n");
  EXPECT_TRUE(log.contains("X-Bad"));
}

TEST_F(ExchangeMapping, SendsRequestHeadersBackWhenAskedTo) {
  rules.return_request_headers = true;
  ASSERT_TRUE(receive("GET / HTTP/1.1\r\nX-Id: 1\r\n"));
  answer();
  EXPECT_TRUE(says("X-Id: 1"));
  EXPECT_FALSE(says("Host: shop"));
}

TEST_F(ExchangeMapping, ChoosesTheStatus) {
  ASSERT_TRUE(receive("GET / HTTP/1.1\r\n"));
  answer();
  EXPECT_EQ(out.status, 204);
  const std::pair<Value, int> cases[] = {{Value(201), 201},
                                         {Value("404"), 404},
                                         {Value(7), 500},
                                         {Value(101), 500},
                                         {Value("x"), 500}};
  for (const auto& [code, expected] : cases) {
    ASSERT_TRUE(receive("GET / HTTP/1.1\r\n"));
    message.headers.set("CamelHttpResponseCode", code);
    answer();
    EXPECT_EQ(out.status, expected);
    EXPECT_FALSE(says("CamelHttpResponseCode: 201"));
  }
}

TEST_F(ExchangeMapping, ChoosesTheMediaType) {
  ASSERT_TRUE(receive("POST / HTTP/1.1\r\ncontent-type: text/csv\r\n", "a;b"));
  EXPECT_EQ(message.body, Value(Bytes(std::string("a;b"))));
  answer();
  EXPECT_TRUE(says("Content-Type: text/csv"));

  ASSERT_TRUE(receive("POST / HTTP/1.1\r\ncontent-type: text/csv\r\n", "a;b"));
  message.body = *parse_json(R"({"a":1.10})");
  answer();
  EXPECT_TRUE(says("Content-Type: application/json"));
  EXPECT_EQ(out.body, Value(R"({"a":1.10})"));

  ASSERT_TRUE(receive("GET / HTTP/1.1\r\n"));
  message.body = Value(42);
  rules.produces = "application/json";
  answer();
  EXPECT_TRUE(says("Content-Type: application/json"));
  EXPECT_EQ(out.body, Value("42"));

  ASSERT_TRUE(receive("GET / HTTP/1.1\r\n"));
  message.headers.set("Content-Type", Value("image/png"));
  message.body = Value(Bytes(std::string("\x89PNG")));
  answer();
  EXPECT_TRUE(says("Content-Type: image/png"));
}

TEST_F(ExchangeMapping, TellsClientsOnlyWhatTheyMayKnow) {
  const auto answer_to = [&](Error error) {
    write_failure(out, error, "drom-1-7", rules);
    return std::to_string(out.status) + " " + out.body.to_text();
  };
  EXPECT_EQ(answer_to(Error(ErrorKind::data, "no 'id'")),
            R"(400 {"error":{"kind":"data","message":"no 'id'","exchangeId":"drom-1-7"}})");
  EXPECT_EQ(
      answer_to(Error(ErrorKind::rejected, "unique key orders_pk")),
      R"(422 {"error":{"kind":"rejected","message":"the request was refused","exchangeId":"drom-1-7"}})");
  EXPECT_EQ(answer_to(Error(ErrorKind::bug, "secret")),
            R"(500 {"error":{"kind":"bug","message":"internal error","exchangeId":"drom-1-7"}})");
  Error busy(ErrorKind::transient, "database is locked");
  busy.retry_after = milliseconds(2500);
  EXPECT_EQ(answer_to(busy).substr(0, 3), "503");
  EXPECT_TRUE(says("Retry-After: 3"));
  EXPECT_EQ(out.body.to_text().find("locked"), std::string::npos);
  rules.mute_exception = true;
  EXPECT_EQ(answer_to(Error(ErrorKind::data, "no 'id'")).find("no 'id'"), std::string::npos);
  for (const ErrorKind kind : {ErrorKind::timeout, ErrorKind::not_connected, ErrorKind::cancelled})
    EXPECT_EQ(answer_to(Error(kind, "x")).substr(0, 3), "503");
}

}  // namespace
}  // namespace drom::http
