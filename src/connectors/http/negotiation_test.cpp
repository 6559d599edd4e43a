#include "connectors/http/negotiation.hpp"

#include <gtest/gtest.h>

namespace drom::http {
namespace {

constexpr std::string_view kTypes = "application/json, application/xml, text/plain; charset=utf-8";

struct Example {
  std::string_view accept;
  std::string_view answer;  // "-": none
};

TEST(Negotiation, TakesWhatTheClientLikesBest) {
  for (const Example& example : {
           Example{"", "application/json"},
           {"*/*", "application/json"},
           {"*", "application/json"},
           {"application/xml", "application/xml"},
           {"APPLICATION/XML", "application/xml"},
           {"text/*", "text/plain; charset=utf-8"},
           {"application/*", "application/json"},
           {"application/json;q=0.5, application/xml", "application/xml"},
           {"application/json;q=0.5, application/xml;q=0.4", "application/json"},
           {"application/xml;q=0.501, application/json;q=0.5", "application/xml"},
           {"application/json;q=0.5, */*;q=0.9", "application/xml"},
           {"application/json;q=0, */*", "application/xml"},
           {"*/*;q=0.1, text/plain;q=0.2", "text/plain; charset=utf-8"},
           {"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
            "application/xml"},
           {"image/png", "-"},
           {"application/json;q=0", "-"},
           {"*/*;q=0", "-"},
           {"application/json;q=0.000", "-"},
           {"application/json;version=2", "application/json"},
           {"application/json ; q = 0.3 , application/xml;q=0.2", "application/json"},
           {"application/json;q=high", "application/json"},
           {",,;,", "-"},
           {"\xff\xfe", "-"},
       })
    EXPECT_EQ(negotiate(example.accept, kTypes).value_or("-"), example.answer) << example.accept;
}

TEST(Negotiation, LeavesTheTypeOpenWhenTheRouteDoes) {
  EXPECT_EQ(negotiate("image/png", ""), std::string_view());
  EXPECT_EQ(negotiate("image/png", "image/*"), std::string_view("image/*"));
  EXPECT_EQ(negotiate("image/png", "text/*"), std::nullopt);
}

}  // namespace
}  // namespace drom::http
