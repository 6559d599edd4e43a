// What a client may cost: bytes, time, connections, requests; and the end of the server.
#include "connectors/http/server_test_support.hpp"

namespace drom::http {
namespace {

TEST_F(HttpServerTest, BoundsTheHead) {
  ServerSettings settings;
  settings.head_bytes_max = 1024;
  start(settings);
  EXPECT_EQ(status("GET /a HTTP/1.1\r\nHost: h\r\nX: " + std::string(5000, 'y')), 431);
  EXPECT_EQ(status("GET /" + std::string(5000, 'y')), 414);
  EXPECT_EQ(status("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;" +
                   std::string(5000, 'y')),
            400);
}

TEST_F(HttpServerTest, GivesSlowClientsUp) {
  start();
  RawClient silent = client();
  RawClient slow_head = client();
  slow_head.send("GET /a HT");
  RawClient slow_body = client();
  slow_body.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n1");
  RawClient idle = client();
  EXPECT_EQ(idle.ask(kGet).status, 200);
  harness.advance(seconds(9));
  slow_head.send("T");  // single bytes buy no time
  EXPECT_TRUE(silent.silent());
  harness.advance(seconds(2));
  EXPECT_TRUE(silent.ended());
  EXPECT_EQ(slow_head.reply().status, 408);
  EXPECT_TRUE(slow_head.ended());
  EXPECT_TRUE(slow_body.silent());
  harness.advance(seconds(20));
  EXPECT_EQ(slow_body.reply().status, 408);
  EXPECT_TRUE(slow_body.ended());
  EXPECT_TRUE(idle.silent());
  harness.advance(seconds(30));
  EXPECT_TRUE(idle.ended());
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, GivesALargeBodyTimeOnlyWhileItComes) {
  ServerSettings settings;
  settings.rate_min = 100;  // 3000 bytes in 30 s
  start(settings);
  const std::string head = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9001\r\n\r\n";
  RawClient steady = client();
  RawClient dripping = client();
  steady.send(head);
  dripping.send(head);
  for (int i = 0; i < 3; ++i) {
    harness.advance(seconds(29));
    steady.send(std::string(3000, 'x'));
    dripping.send("x");
  }
  EXPECT_EQ(dripping.reply().status, 408);
  EXPECT_TRUE(dripping.ended());
  EXPECT_TRUE(steady.silent());
  steady.send("x");
  EXPECT_EQ(steady.reply().status, 200);
}

TEST_F(HttpServerTest, GivesUpAChunkedBodyThatDrips) {
  start();
  RawClient c = client();
  c.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 32; ++i) {
    harness.advance(seconds(1));
    if (i < 29) c.send("1\r\nx\r\n");
  }
  EXPECT_EQ(c.reply().status, 408);
  EXPECT_TRUE(c.ended());
}

TEST_F(HttpServerTest, GivesUpAClientThatReadsByDrops) {
  ServerSettings settings;
  settings.rate_min = 1024 * 1024;
  start(settings);
  sink.hold = true;
  RawClient c = client();
  c.send(kGet);
  sink.answer(std::string(64 * 1024 * 1024, 'x'));
  for (int i = 0; i < 7; ++i) {
    harness.advance(seconds(10));
    c.read_some();  // far less than a megabyte in a second
  }
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, BoundsTheRequestsAtWork) {
  ServerSettings settings;
  settings.requests_max = 2;
  start(settings);
  sink.hold = true;
  RawClient one = client();
  RawClient two = client();
  RawClient three = client();
  one.send(kGet);
  two.send(kGet);
  const RawReply refused = three.ask(kGet);
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.has("Retry-After: 1"));
  two.reset();  // a client that leaves frees nothing before the route has answered
  EXPECT_EQ(three.ask(kGet).status, 503);
  sink.answer("one");
  EXPECT_EQ(one.reply().body, "one");
  EXPECT_EQ(server->requests(), 1u);
  three.send(kGet);
  sink.answer("two");
  sink.answer("three");
  EXPECT_EQ(three.reply().body, "three");
  EXPECT_EQ(server->requests(), 0u);
}

TEST_F(HttpServerTest, BoundsTheMemoryOfBodies) {
  ServerSettings settings;
  settings.body_memory_max = 1000;
  start(settings);
  const std::string head = "POST /a HTTP/1.1\r\nHost: h\r\n";
  RawClient large = client();
  EXPECT_EQ(large.ask(head + "Content-Length: 5000\r\n\r\n" + std::string(5000, 'x')).status, 200);
  EXPECT_EQ(server->held_bodies(), 0u);
  sink.hold = true;
  large.send(head + "Content-Length: 600\r\n\r\n" + std::string(600, 'x'));
  EXPECT_EQ(server->held_bodies(), 600u);
  RawClient chunked = client();
  const RawReply refused = chunked.ask(head + "Transfer-Encoding: chunked\r\n\r\n191\r\n" +
                                       std::string(401, 'y') + "\r\n");
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.has("Retry-After: 1"));
  EXPECT_TRUE(chunked.ended());
  RawClient small = client();
  small.send(head + "Content-Length: 400\r\n\r\n" + std::string(400, 'z'));
  EXPECT_EQ(sink.waiting.size(), 2u);
  RawClient gone = client();
  gone.send(head + "Content-Length: 9\r\n\r\n");
  gone.close();
  sink.answer("one");
  sink.answer("two");
  EXPECT_EQ(large.reply().body, "one");
  EXPECT_EQ(small.reply().body, "two");
  EXPECT_EQ(server->held_bodies(), 0u);
}

TEST_F(HttpServerTest, WaitsForHalfARequestOnlySoLongWhenItStops) {
  ServerSettings settings;
  settings.drain_timeout = seconds(3);
  settings.head_timeout = seconds(60);
  settings.body_timeout = seconds(60);
  start(settings);
  RawClient half_head = client();
  half_head.send("GET /a HT");
  RawClient half_body = client();
  half_body.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n1");
  RawClient in_time = client();
  in_time.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n1");
  harness.spawn(server->stop());
  harness.settle();
  in_time.send("2345");
  const RawReply reply = in_time.reply();
  EXPECT_EQ(reply.body, "POST /a 12345");
  EXPECT_TRUE(reply.has("Connection: close"));
  EXPECT_TRUE(in_time.ended());
  EXPECT_TRUE(half_head.silent());
  harness.advance(seconds(4));
  EXPECT_EQ(half_head.reply().status, 503);
  EXPECT_TRUE(half_head.ended());
  EXPECT_EQ(half_body.reply().status, 503);
  EXPECT_TRUE(half_body.ended());
  half_head.close();
  half_body.close();
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, LetsARouteTakeItsTime) {
  start();
  sink.hold = true;
  RawClient c = client();
  c.send(kGet);
  harness.advance(std::chrono::hours(1));
  sink.answer("late");
  EXPECT_EQ(c.reply().body, "late");
}

TEST_F(HttpServerTest, GivesUpAClientThatDoesNotRead) {
  start();
  sink.hold = true;
  RawClient c = client();
  c.send(kGet);
  sink.answer(std::string(64 * 1024 * 1024, 'x'));
  harness.advance(seconds(29));
  EXPECT_EQ(server->connections(), 1u);
  harness.advance(seconds(2));
  EXPECT_EQ(server->connections(), 0u);
}

TEST_F(HttpServerTest, BoundsTheNumberOfConnections) {
  ServerSettings settings;
  settings.connections_max = 2;
  start(settings);
  RawClient one = client();
  RawClient two = client();
  RawClient three = client();
  three.send(kGet);
  EXPECT_EQ(server->connections(), 2u);
  EXPECT_TRUE(three.silent());
  one.close();
  EXPECT_EQ(three.reply().status, 200);
}

TEST_F(HttpServerTest, StopsWithoutCuttingAnswersOff) {
  start();
  sink.hold = true;
  RawClient idle = client();
  RawClient working = client();
  working.send(kGet);
  harness.run(server->stop());
  EXPECT_TRUE(idle.ended());
  boost::asio::ip::tcp::socket late(harness.io());
  boost::system::error_code refused;
  late.connect({boost::asio::ip::address_v4::loopback(), server->port()}, refused);
  EXPECT_TRUE(refused);
  sink.answer("done");
  const RawReply reply = working.reply();
  EXPECT_EQ(reply.body, "done");
  EXPECT_TRUE(reply.has("Connection: close"));
  EXPECT_TRUE(working.ended());
  harness.run(server->flush());
  EXPECT_EQ(server->connections(), 0u);
}

}  // namespace
}  // namespace drom::http
