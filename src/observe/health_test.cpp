#include "observe/health.hpp"

#include <gtest/gtest.h>

namespace drom {
namespace {

class Health : public ::testing::Test {
 protected:
  RouteCounters& route(const std::string& id, RouteState state) {
    RouteCounters& out = counters.route(id);
    out.state = state;
    return out;
  }
  HealthReport ready() { return readiness(counters, board); }

  Counters counters;
  OutboxBoard board;
  OutboxStats relay;
};

TEST_F(Health, NothingToDoIsReady) {
  EXPECT_TRUE(ready().up());
  EXPECT_TRUE(startup(counters).up());
  EXPECT_EQ(ready().json(), R"({"status":"UP","checks":[]})");
}

TEST_F(Health, IsNotReadyBeforeEveryRouteHasStarted) {
  route("a", RouteState::started);
  RouteCounters& b = route("b", RouteState::starting);
  EXPECT_EQ(
      ready().json(),
      R"({"status":"DOWN","checks":[{"name":"route:a","status":"UP"},)"
      R"({"name":"route:b","status":"DOWN","data":{"why":"the route has not started yet"}}]})");
  EXPECT_FALSE(startup(counters).up());
  b.trouble = "no \"server\"";
  EXPECT_NE(ready().json().find(R"("why":"no \"server\"")"), std::string::npos) << ready().json();
  b.trouble.clear();
  b.state = RouteState::started;
  EXPECT_TRUE(ready().up());
  EXPECT_TRUE(startup(counters).up());
}

TEST_F(Health, ASourceThatIsLostLaterIsNotReadyButHasStarted) {
  route("a", RouteState::started).trouble = "connection refused";
  EXPECT_FALSE(ready().up());
  EXPECT_TRUE(startup(counters).up());
}

TEST_F(Health, NoSecretIsShown) {
  route("a", RouteState::started).trouble = "cannot reach amqp://user:swordfish@host/";
  EXPECT_EQ(ready().json().find("swordfish"), std::string::npos) << ready().json();
}

TEST_F(Health, ARouteThatDoesNotStartByItselfIsNotAskedAfter) {
  route("a", RouteState::off);
  EXPECT_TRUE(ready().up());
  EXPECT_TRUE(startup(counters).up());
}

TEST_F(Health, IsNotReadyWhileStopping) {
  route("a", RouteState::stopped);
  EXPECT_FALSE(ready().up());
  EXPECT_TRUE(startup(counters).up());
}

TEST_F(Health, ARelayThatDoesNotGetOnIsNotReadyAndSaysWhy) {
  board.add(this, "outbox:orders", [this] { return relay; });
  EXPECT_TRUE(ready().up());
  relay.ready = false;
  relay.why = "the target cannot be reached for 90s";
  EXPECT_EQ(ready().json(), R"({"status":"DOWN","checks":[{"name":"outbox:orders","status":"DOWN",)"
                            R"("data":{"why":"the target cannot be reached for 90s"}}]})");
  EXPECT_TRUE(startup(counters).up());
  relay.reads = "log";
  EXPECT_EQ(ready().checks.at(0).name, "outbox:orders (log)");
}

}  // namespace
}  // namespace drom
