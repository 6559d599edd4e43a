// Log mode without a database: which options go together, and what is bound into its statements.
#include <gtest/gtest.h>

#include "connectors/outbox/outbox_endpoint.hpp"
#include "connectors/outbox/outbox_log_sql.hpp"
#include "drom/base/json.hpp"
#include "support/harness.hpp"

namespace drom::outbox {
namespace {

class LogModeTest : public ::testing::Test {
 protected:
  Result<OutboxOptions> read(std::vector<std::pair<std::string, std::string>> options) {
    std::vector<OptionText> texts;
    options.emplace_back("name", "orders");
    for (auto& [name, value] : options) {
      OptionText text;
      text.name = name;
      text.text = value;
      texts.push_back(std::move(text));
    }
    const Config config =
        Config::validate(endpoint_spec(), texts, Location{}, harness, harness.problems);
    EXPECT_FALSE(harness.problems.has_errors()) << harness.problems.render();
    return read_options(config);
  }
  testing::Harness harness;
};

TEST_F(LogModeTest, TheModeIsClaimUnlessSaid) {
  EXPECT_EQ(read({})->mode, Mode::claim);
  EXPECT_EQ(read({{"mode", "log"}})->mode, Mode::log);
}

TEST_F(LogModeTest, ATableOfAnotherFormatAndAnArchiveAreRefused) {
  const Result<OutboxOptions> foreign = read({{"mode", "log"}, {"format", "debezium"}});
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().kind, ErrorKind::config);
  EXPECT_NE(foreign.error().what.find("another format"), std::string::npos);
  EXPECT_NE(foreign.error().hint.find("mode=claim"), std::string::npos);
  const Result<OutboxOptions> archive = read({{"mode", "log"}, {"sentPolicy", "archive"}});
  ASSERT_FALSE(archive.ok());
  EXPECT_EQ(archive.error().kind, ErrorKind::config);
  EXPECT_NE(archive.error().what.find("archived"), std::string::npos);
  EXPECT_NE(archive.error().hint.find("mode=claim"), std::string::npos);
  const Result<OutboxOptions> total = read({{"mode", "log"}, {"ordering", "total"}});
  ASSERT_FALSE(total.ok());
  EXPECT_NE(total.error().hint.find("ordering=key"), std::string::npos);
}

TEST_F(LogModeTest, ASnapshotIsTakenApart) {
  const Snapshot busy("100:105:100,103");
  EXPECT_EQ(busy.xmax, "105");
  EXPECT_EQ(busy.xips, "{100,103}");
  const Snapshot nothing(kNothing);
  EXPECT_EQ(nothing.xmax, "3");
  EXPECT_EQ(nothing.xips, "{}");
}

TEST_F(LogModeTest, HoldsKeepTheirOrderAndTheirErrorsAreCleanAndBounded) {
  Hold failed;
  failed.id = 7;
  failed.attempts = 1;
  failed.delay = milliseconds(250);
  failed.error = std::string("no\0way", 6) + "\xff\xc3";
  Hold dead;
  dead.id = 5;
  dead.to = FailedMark::To::dead;
  for (int i = 0; i < 1999; ++i) dead.error += 'x';
  dead.error += "\xc3\xa4";  // may not be cut in two
  Hold follows;
  follows.id = 9;
  const Result<Value> list = parse_json(holds_json({failed, dead, follows}));
  ASSERT_TRUE(list.ok());
  const List& holds = *list->as_list();
  ASSERT_EQ(holds.size(), 3u);
  const auto at = [&](size_t i, const char* name) { return *holds[i].as_object()->find(name); };
  EXPECT_EQ(at(0, "n"), Value(0));
  EXPECT_EQ(at(0, "id"), Value(7));
  EXPECT_EQ(at(0, "status"), Value("due"));
  EXPECT_EQ(at(0, "delay"), Value(250));
  EXPECT_EQ(at(0, "error"), Value("noway??"));
  EXPECT_EQ(at(1, "status"), Value("dead"));
  EXPECT_EQ(at(1, "error").to_text().size(), 1999u);
  EXPECT_EQ(at(2, "n"), Value(2));
  EXPECT_TRUE(at(2, "error").is_null());
}

}  // namespace
}  // namespace drom::outbox
