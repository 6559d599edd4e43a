#include <gtest/gtest.h>

#include "connectors/http/http_text.hpp"
#include "connectors/http/producer_fixture.hpp"
#include "support/gzip.hpp"

namespace drom::http {
namespace {

using drom::testing::pack;

class HttpProducer : public ProducerFixture {};

TEST_F(HttpProducer, UnpacksAnswersAndTheirErrors) {
  ScriptedServer& server = serve({answer(200, "Content-Encoding: gzip\r\n", pack("hello")),
                                  answer(400, "Content-Encoding: gzip\r\n", pack("no such item"))});
  const Exchange good = send_to(server);
  ASSERT_TRUE(good.running()) << wrong(good);
  EXPECT_EQ(good.message.body.to_text(), "hello");
  EXPECT_FALSE(good.message.headers.find("Content-Encoding"));
  EXPECT_TRUE(header(server.requests[0], "Accept-Encoding").starts_with("gzip, deflate"));
  const Exchange bad = send_to(server);
  ASSERT_TRUE(bad.failed());
  EXPECT_EQ(bad.properties.find("CamelHttpResponseBody")->to_text(), "no such item");
}

TEST_F(HttpProducer, LeavesPackedAnswersAloneWhenToldSo) {
  const std::string packed = pack("hello");
  ScriptedServer& server = serve({answer(200, "Content-Encoding: gzip\r\n", packed)});
  const Exchange out = send_to(server, {{"contentDecoding", "false"}});
  EXPECT_EQ(out.message.body.raw(), packed);
  EXPECT_EQ(out.message.headers.text("Content-Encoding"), "gzip");
  EXPECT_EQ(header(server.requests[0], "Accept-Encoding"), "-");
}

TEST_F(HttpProducer, TakesNoBombAndNothingDamaged) {
  const std::string bomb = pack(std::string(30'000'000, '\0'));
  ScriptedServer& server = serve({answer(200, "Content-Encoding: gzip\r\n", bomb),
                                  answer(200, "Content-Encoding: gzip\r\n", "plain"),
                                  answer(200, "Content-Encoding: zstd\r\n", "plain")});
  for (const char* why : {"beyond the limit", "not what its content coding says", "not known"}) {
    const Exchange out = send_to(server, {{"maxRetries", "3"}});
    ASSERT_TRUE(out.failed());
    EXPECT_EQ(out.error->kind, ErrorKind::rejected);
    EXPECT_NE(out.error->message().find(why), std::string::npos) << wrong(out);
  }
}

TEST_F(HttpProducer, RetriesOnlyWhatMayBeDoneTwice) {
  ScriptedServer& server =
      serve({answer(503), "", answer(200, "", "ok"), answer(503), answer(503)});
  const Options options{{"maxRetries", "2"}};
  EXPECT_EQ(send_to(server, options).message.body.to_text(), "ok");
  EXPECT_EQ(server.requests.size(), 3u);
  const Exchange post = send_to(server, options, with_body("x"));
  EXPECT_EQ(post.error->kind, ErrorKind::transient);
  EXPECT_EQ(server.requests.size(), 4u);
  const Exchange once = send_to(server);
  EXPECT_TRUE(once.failed());
  EXPECT_EQ(server.requests.size(), 5u) << "no retries by default";
}

TEST_F(HttpProducer, RetriesPostWithAnIdempotencyKey) {
  ScriptedServer& server = serve({answer(502), answer(201)});
  Message message = with_body("x");
  message.headers.set("orderId", Value("o-7"));
  message.headers.set("Idempotency-Key", Value("another"));
  const Exchange out =
      send_to(server, {{"maxRetries", "2"}, {"idempotencyKey", "${header.orderId}"}}, message);
  EXPECT_TRUE(out.running()) << wrong(out);
  ASSERT_EQ(server.requests.size(), 2u);
  for (const std::string& request : server.requests) {
    EXPECT_EQ(header(request, "Idempotency-Key"), "o-7");
    EXPECT_EQ(request.find("another"), std::string::npos);
    EXPECT_EQ(body_of(request), "x");
  }
}

TEST_F(HttpProducer, DoesNotRetryWhatCannotGetBetter) {
  ScriptedServer& server = serve({answer(404), answer(500), answer(200)});
  EXPECT_TRUE(send_to(server, {{"maxRetries", "5"}}).failed());
  EXPECT_EQ(server.requests.size(), 1u);
  EXPECT_TRUE(send_to(server, {{"maxRetries", "5"}}).failed());
  EXPECT_EQ(server.requests.size(), 2u) << "500 may have done anything";
}

TEST_F(HttpProducer, HonoursRetryAfterInSecondsAndAsADate) {
  const WallTime later = harness.clock().wall() + std::chrono::seconds(29);
  ScriptedServer& server =
      serve({answer(429, "Retry-After: 7\r\n"), answer(200),
             answer(503, "Retry-After: " + http_date(later) + "\r\n"), answer(200)});
  const SteadyTime begin = harness.clock().steady();
  EXPECT_TRUE(send_to(server, {{"maxRetries", "1"}}).running());
  EXPECT_GE(harness.clock().steady() - begin, std::chrono::seconds(7));
  EXPECT_TRUE(send_to(server, {{"maxRetries", "1"}}).running());
  EXPECT_GE(harness.clock().wall(), later - std::chrono::seconds(1));
}

TEST_F(HttpProducer, LeavesALongRetryAfterToTheErrorHandler) {
  ScriptedServer& server = serve({answer(503, "Retry-After: 120\r\n"), answer(200)});
  const Exchange out = send_to(server, {{"maxRetries", "3"}, {"maxRetryDelay", "30s"}});
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->retry_after, std::chrono::seconds(120));
  EXPECT_EQ(server.requests.size(), 1u);
}

TEST_F(HttpProducer, EndsWithinTheTotalTime) {
  ScriptedServer& server = serve({});  // never answers
  const SteadyTime begin = harness.clock().steady();
  const Exchange out =
      send_to(server, {{"maxRetries", "50"}, {"responseTimeout", "3s"}, {"totalTimeout", "10s"}});
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::timeout);
  EXPECT_LE(harness.clock().steady() - begin, milliseconds(10'200));
  EXPECT_GE(server.requests.size(), 3u);
  EXPECT_LE(server.requests.size(), 4u);
}

TEST_F(HttpProducer, TriesAgainToConnectWhateverTheMethod) {
  ScriptedServer& server = serve({});
  const std::string target = url(server);
  server.stop();
  const SteadyTime begin = harness.clock().steady();
  const Exchange out =
      send(open(target, {{"maxRetries", "2"}, {"retryDelay", "10s"}}), with_body("x"));
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::not_connected);
  EXPECT_GE(harness.clock().steady() - begin, std::chrono::seconds(15));
}

TEST_F(HttpProducer, KeepsMethodAndBodyOr302MakesItGet) {
  ScriptedServer& server =
      serve({answer(307, "Location: /b\r\n"), answer(200), answer(302, "Location: c?x=1\r\n"),
             answer(200), answer(301, "Location: ../d\r\n"), answer(200)});
  const Options follow{{"followRedirects", "true"}};
  EXPECT_TRUE(send_to(server, follow, with_body("x")).running());
  EXPECT_TRUE(server.requests[1].starts_with("POST /b HTTP/1.1\r\n"));
  EXPECT_EQ(body_of(server.requests[1]), "x");
  EXPECT_TRUE(send(open(url(server, "/p/q"), follow), with_body("x")).running());
  EXPECT_TRUE(server.requests[3].starts_with("GET /p/c?x=1 HTTP/1.1\r\n"));
  EXPECT_EQ(header(server.requests[3], "Content-Length"), "-");
  Options put = follow;
  put.emplace_back("httpMethod", "PUT");
  EXPECT_TRUE(send(open(url(server, "/p/q/r"), put), with_body("x")).running());
  EXPECT_TRUE(server.requests[5].starts_with("PUT /p/d HTTP/1.1\r\n"));
}

TEST_F(HttpProducer, CarriesNoCredentialsToAnotherOriginNorBack) {
  ScriptedServer& stranger = serve({});
  ScriptedServer& first = serve({answer(302, "Location: " + url(stranger) + "\r\n"), answer(200)});
  stranger.script = {answer(307, "Location: " + url(first, "/back") + "\r\n")};
  Message message;
  message.headers.set("Cookie", Value("session=1"));
  const Exchange out = send(open(url(first), {{"followRedirects", "true"},
                                              {"authBearerToken", "T1"},
                                              {"forwardCredentials", "true"}}),
                            message);
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(header(first.requests.at(0), "Authorization"), "Bearer T1");
  EXPECT_EQ(header(first.requests.at(0), "Cookie"), "session=1");
  EXPECT_EQ(header(stranger.requests.at(0), "Authorization"), "-");
  EXPECT_EQ(header(stranger.requests.at(0), "Cookie"), "-");
  EXPECT_EQ(header(first.requests.at(1), "Authorization"), "-");
}

TEST_F(HttpProducer, EndsALoopOfRedirects) {
  std::vector<std::string> script(20, answer(302, "Location: /a\r\n"));
  ScriptedServer& server = serve(std::move(script));
  const Exchange out = send_to(server, {{"followRedirects", "true"}, {"maxRedirects", "3"}});
  ASSERT_TRUE(out.failed());
  EXPECT_EQ(out.error->kind, ErrorKind::rejected);
  EXPECT_EQ(server.requests.size(), 4u);
  const Exchange none = send_to(server);
  EXPECT_NE(none.error->message().find("followRedirects"), std::string::npos);
}

TEST_F(HttpProducer, SendsChunksAndReadsChunks) {
  ScriptedServer& server =
      serve({"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
             "chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"});
  const std::string large(150'000, 'z');
  const Exchange out = send_to(server, {{"chunked", "true"}}, with_body(large));
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(out.message.body.to_text(), "abcde");
  const std::string& request = server.requests.at(0);
  EXPECT_EQ(header(request, "Transfer-Encoding"), "chunked");
  EXPECT_EQ(header(request, "Content-Length"), "-");
  EXPECT_EQ(body_of(request), "10000\r\n" + large.substr(0, 65536) + "\r\n10000\r\n" +
                                  large.substr(0, 65536) + "\r\n49f0\r\n" + large.substr(0, 18928) +
                                  "\r\n0\r\n\r\n");
}

TEST_F(HttpProducer, UploadsFormsAndFiles) {
  ScriptedServer& server = serve({answer(200), answer(200)});
  Object form;
  form.append("title", Value("T\xc3\xa4g"));
  form.append("tags", Value(List{Value("a"), Value("b")}));
  Object file;
  file.append("content", Value(Bytes(std::string("\x00\xff", 2))));
  file.append("fileName", Value("x\"\r\ny.bin"));
  file.append("contentType", Value("application/x-thing"));
  form.append("doc", Value(std::move(file)));
  EXPECT_TRUE(send_to(server, {{"multipartUpload", "true"}}, with_body(std::move(form))).running());
  const std::string& request = server.requests.at(0);
  const std::string type = header(request, "Content-Type");
  ASSERT_TRUE(type.starts_with("multipart/form-data; boundary=")) << type;
  const std::string line = "--" + type.substr(30) + "\r\n";
  const std::string field = "Content-Disposition: form-data; name=";
  EXPECT_EQ(body_of(request),
            line + field + "\"title\"\r\n\r\nT\xc3\xa4g\r\n" + line + field +
                "\"tags\"\r\n\r\na\r\n" + line + field + "\"tags\"\r\n\r\nb\r\n" + line + field +
                "\"doc\"; filename=\"x%22%0D%0Ay.bin\"\r\nContent-Type: application/x-thing\r\n" +
                "\r\n" + std::string("\x00\xff", 2) + "\r\n--" + type.substr(30) + "--\r\n");
  Message one = with_body("a;b\n");
  one.headers.set("Content-Type", Value("text/csv"));
  one.headers.set("name", Value("t.csv"));
  EXPECT_TRUE(send_to(server,
                      {{"multipartUpload", "true"},
                       {"multipartUploadName", "upload"},
                       {"multipartUploadFileName", "${header.name}"}},
                      one)
                  .running());
  EXPECT_NE(server.requests.at(1).find("name=\"upload\"; filename=\"t.csv\"\r\nContent-Type: "
                                       "text/csv\r\n\r\na;b\n\r\n--"),
            std::string::npos);
}

// Case C52.
TEST_F(HttpProducer, WritesHeadersByTheirKind) {
  ScriptedServer& server = serve({answer(200)});
  Message message = with_body("x");
  message.headers.set("tenant", Value(Bytes(std::string("abc"))));
  message.headers.set("bin", Value(Bytes(std::string("\xff\x00", 2))));
  message.headers.set("n", Value());
  message.headers.set("empty", Value(""));
  message.headers.set("count", Value(7));
  message.headers.set("flag", Value(true));
  message.headers.set("evil", Value("a\r\nX-Injected: 1"));
  message.headers.set("bad name", Value("x"));
  message.headers.set("kafka.topic", Value("orders"));
  message.headers.set("Authorization", Value("Basic c2VjcmV0"));
  message.headers.set("list", Value(List{Value("a"), Value(), Value(Bytes(std::string("\xff")))}));
  const Exchange out = send_to(server, {}, message);
  ASSERT_TRUE(out.running()) << wrong(out);
  const std::string& request = server.requests.at(0);
  EXPECT_EQ(header(request, "tenant"), "abc");
  EXPECT_EQ(header(request, "bin"), "/wA=");
  EXPECT_EQ(header(request, "n"), "-") << "null is not the empty text";
  EXPECT_EQ(header(request, "empty"), "");
  EXPECT_EQ(header(request, "count"), "7");
  EXPECT_EQ(header(request, "flag"), "true");
  EXPECT_NE(request.find("\r\nlist: a\r\nlist: /w==\r\n"), std::string::npos) << request;
  EXPECT_EQ(request.find("Injected"), std::string::npos);
  EXPECT_EQ(request.find("kafka.topic"), std::string::npos);
  EXPECT_EQ(request.find("Authorization"), std::string::npos);
  EXPECT_TRUE(harness.captured.contains("'evil'"));
  EXPECT_TRUE(harness.captured.contains("'bad name'"));
  EXPECT_EQ(out.message.headers.find("bin")->kind(), Value::Kind::bytes) << "bytes stay bytes";
}

TEST_F(HttpProducer, KeepsHeadersThatAreNoUtf8AsBytes) {
  ScriptedServer& server = serve({answer(200, "x-name: K\xc3\xa4the\r\nx-old: K\xe4the\r\n")});
  const Exchange out = send_to(server);
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(out.message.headers.find("x-name")->kind(), Value::Kind::text);
  EXPECT_EQ(out.message.headers.find("x-old")->kind(), Value::Kind::bytes);
  EXPECT_EQ(out.message.headers.find("x-old")->raw(), "K\xe4the");
}

TEST_F(HttpProducer, SkipsHeadersAndBodiesWhenToldSo) {
  ScriptedServer& server =
      serve({answer(200, "x-a: 1\r\nContent-Type: text/plain\r\n", "body"), answer(200)});
  Message message = with_body("x");
  message.headers.set("mine", Value("1"));
  const Exchange out = send_to(server,
                               {{"skipRequestHeaders", "true"},
                                {"skipResponseHeaders", "true"},
                                {"copyHeaders", "false"},
                                {"ignoreResponseBody", "true"},
                                {"userAgent", "shop/1"},
                                {"connectionClose", "true"}},
                               message);
  ASSERT_TRUE(out.running()) << wrong(out);
  EXPECT_EQ(header(server.requests.at(0), "mine"), "-");
  EXPECT_EQ(header(server.requests.at(0), "User-Agent"), "shop/1");
  EXPECT_EQ(header(server.requests.at(0), "Connection"), "close");
  EXPECT_FALSE(out.message.headers.find("x-a"));
  EXPECT_FALSE(out.message.headers.find("mine"));
  EXPECT_EQ(out.message.headers.text("Content-Type"), "text/plain");
  EXPECT_TRUE(out.message.body.is_null());
  EXPECT_TRUE(
      send_to(server, {{"httpMethod", "DELETE"}, {"deleteWithBody", "true"}}, message).running());
  EXPECT_TRUE(server.requests.at(1).starts_with("DELETE "));
  EXPECT_EQ(body_of(server.requests.at(1)), "x");
}

// The HTTP part of case C58.
TEST_F(HttpProducer, MasksSecretsInItsNameAndErrors) {
  ScriptedServer& server = serve({answer(401)});
  const Exchange out = send_to(server, {{"api-key", "K1SECRET"},
                                        {"x-access_token", "K2SECRET:with:colons"},
                                        {"authUsername", "svc"},
                                        {"authPassword", "p:a@SECRET"}});
  ASSERT_TRUE(out.failed());
  EXPECT_NE(server.requests.at(0).find("api-key=K1SECRET"), std::string::npos);
  EXPECT_EQ(header(server.requests.at(0), "Authorization"), "Basic c3ZjOnA6YUBTRUNSRVQ=");
  EXPECT_EQ(out.error->message().find("SECRET"), std::string::npos) << out.error->message();
  EXPECT_EQ(endpoints.back()->uri().find("SECRET"), std::string::npos);
  EXPECT_NE(endpoints.back()->uri().find("api-key=xxxxxx"), std::string::npos);
  for (const auto& line : harness.captured.lines)
    EXPECT_EQ(line.message.find("SECRET"), std::string::npos) << line.message;
  for (const char* uri : {"http://svc:p:a@SECRET@h/", "http://svc:p:aSECRET@h:1/q"}) {
    const auto made = drom::testing::try_endpoint(harness, "http", {{"httpUri", uri}});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().message().find("SECRET"), std::string::npos);
  }
}

}  // namespace
}  // namespace drom::http
