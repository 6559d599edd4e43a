#include "connectors/http/router.hpp"

#include <gtest/gtest.h>

#include "connectors/http/server.hpp"

namespace drom::http {
namespace {

MethodSet only(Method method) {
  MethodSet out;
  out.add(method);
  return out;
}

class RouterTest : public ::testing::Test {
 protected:
  Result<void> add(const std::string& path, MethodSet methods = MethodSet::all(),
                   bool prefix = false) {
    auto route = std::make_shared<Route>();
    route->path = path;
    return router.add(path, prefix, methods, route);
  }
  std::string found(std::string_view path, Method method = Method::get) const {
    const Router::Match match = router.find(path, method);
    switch (match.answer) {
      case Router::Answer::not_found: return "404";
      case Router::Answer::bad_path: return "400";
      case Router::Answer::method_not_allowed: return "405 " + match.allowed.text();
      case Router::Answer::found: break;
    }
    std::string out = match.route->path;
    for (const auto& [name, value] : match.parameters) out += " " + name + "=" + value;
    return out;
  }
  Router router;
};

TEST_F(RouterTest, PrefersALiteralToAParameterToAPrefix) {
  ASSERT_TRUE(add("/", MethodSet::all(), true));
  ASSERT_TRUE(add("/orders/{id}"));
  ASSERT_TRUE(add("/orders/open"));
  EXPECT_EQ(found("/orders/open"), "/orders/open");
  EXPECT_EQ(found("/orders/42"), "/orders/{id} id=42");
  EXPECT_EQ(found("/orders/42/lines"), "/");
  EXPECT_EQ(found("/"), "/");
}

TEST_F(RouterTest, GoesBackWhenALiteralLeadsNowhere) {
  ASSERT_TRUE(add("/a/b/c"));
  ASSERT_TRUE(add("/a/{x}/d"));
  EXPECT_EQ(found("/a/b/d"), "/a/{x}/d x=b");
  EXPECT_EQ(found("/a/b/e"), "404");
}

TEST_F(RouterTest, ChoosesByMethodAndNamesTheOthers) {
  ASSERT_TRUE(add("/orders", only(Method::post)));
  ASSERT_TRUE(add("/orders", only(Method::get)));
  EXPECT_EQ(found("/orders", Method::post), "/orders");
  EXPECT_EQ(found("/orders", Method::head), "/orders");
  EXPECT_EQ(found("/orders", Method::del), "405 GET, HEAD, POST");
}

TEST_F(RouterTest, LetsARouteHaveHeadForItself) {
  ASSERT_TRUE(add("/orders/{id}", only(Method::get)));
  ASSERT_TRUE(add("/orders/{key}", only(Method::head)));
  EXPECT_EQ(found("/orders/1", Method::head), "/orders/{key} key=1");
  EXPECT_EQ(found("/orders/1", Method::get), "/orders/{id} id=1");
}

TEST_F(RouterTest, PrefersWhatSaysMore) {
  ASSERT_TRUE(add("/", only(Method::get), true));
  ASSERT_TRUE(add("/a", only(Method::get), true));
  ASSERT_TRUE(add("/a/{x}", only(Method::get)));
  ASSERT_TRUE(add("/a/{x}", only(Method::get), true));
  ASSERT_TRUE(add("/a/b/{y}", only(Method::get)));
  ASSERT_TRUE(add("/{z}/b/c", only(Method::get)));
  ASSERT_TRUE(add("/a/only", only(Method::post)));
  for (const auto& [path, route] : std::map<std::string, std::string>{
           {"/", "/"},
           {"/x", "/"},
           {"/a", "/a"},
           {"/a/b", "/a/{x} x=b"},
           {"/a/b/c", "/a/b/{y} y=c"},
           {"/a/b/c/d", "/a/{x} x=b"},
           {"/x/b/c", "/{z}/b/c z=x"},
           {"/x/b/d", "/"},
           {"/a/only", "/a/{x} x=only"},  // the literal has another method
           {"/a%2Fb", "/"},               // one segment
           {"/A", "/"},                   // paths know capitals
       })
    EXPECT_EQ(found(path), route) << path;
  EXPECT_EQ(found("/a/only", Method::del), "405 GET, HEAD, POST");
}

TEST_F(RouterTest, NamesParametersPerRoute) {
  ASSERT_TRUE(add("/x/{a}/{b}", only(Method::get)));
  ASSERT_TRUE(add("/x/{c}/{d}", only(Method::put)));
  EXPECT_EQ(found("/x/1/2"), "/x/{a}/{b} a=1 b=2");
  EXPECT_EQ(found("/x/1/2", Method::put), "/x/{c}/{d} c=1 d=2");
}

TEST_F(RouterTest, DecodesSegmentsAfterSplittingThem) {
  ASSERT_TRUE(add("/files/{name}"));
  EXPECT_EQ(found("/files/a%2Fb%20c"), "/files/{name} name=a/b c");
  EXPECT_EQ(found("/f%69les/a"), "/files/{name} name=a");
}

TEST_F(RouterTest, RefusesDotSegmentsAndBadEscapes) {
  ASSERT_TRUE(add("/", MethodSet::all(), true));
  EXPECT_EQ(found("/a/../b"), "400");
  EXPECT_EQ(found("/a/%2e%2E/b"), "400");
  EXPECT_EQ(found("/%"), "400");
  EXPECT_EQ(found("/a%00"), "400");
}

TEST_F(RouterTest, IgnoresOneTrailingSlashButNoEmptySegment) {
  ASSERT_TRUE(add("/orders/{id}"));
  EXPECT_EQ(found("/orders/1/"), "/orders/{id} id=1");
  EXPECT_EQ(found("/orders//"), "404");
  EXPECT_EQ(found("//orders/1"), "404");
}

TEST_F(RouterTest, RefusesTwoRoutesForOneMethodAndPath) {
  ASSERT_TRUE(add("/orders/{id}", only(Method::get)));
  EXPECT_TRUE(add("/orders/{id}", only(Method::put)));
  const Result<void> second = add("/orders/{number}", only(Method::get));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::config);
}

TEST_F(RouterTest, RefusesBadTemplates) {
  EXPECT_FALSE(add("/a//b"));
  EXPECT_FALSE(add("/a/{"));
  EXPECT_FALSE(add("/a/x{id}"));
}

TEST_F(RouterTest, ForgetsARemovedRoute) {
  auto route = std::make_shared<Route>();
  ASSERT_TRUE(router.add("/a/{b}", false, MethodSet::all(), route));
  router.remove(route.get());
  EXPECT_EQ(found("/a/1"), "404");
  EXPECT_TRUE(router.add("/a/{b}", false, MethodSet::all(), route));
}

TEST_F(RouterTest, BoundsTheDepthOfAPath) {
  ASSERT_TRUE(add("/", MethodSet::all(), true));
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "/a";
  EXPECT_EQ(found(deep), "404");
}

}  // namespace
}  // namespace drom::http
