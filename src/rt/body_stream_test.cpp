#include <gtest/gtest.h>

#include "support/harness.hpp"
#include "support/pieces.hpp"

namespace drom {
namespace {

using testing::Harness;
using testing::Pieces;

class BodyStreams : public ::testing::Test {
 protected:
  // What has become of it: the body, or the kind of the error.
  std::string read(std::shared_ptr<BodyStream> stream) {
    message.stream = std::move(stream);
    const Result<void> done = harness.run(read_in(message));
    return done ? message.body.to_text() : std::string(to_string(done.error().kind));
  }
  Harness harness;
  Message message;
};

TEST_F(BodyStreams, BecomeBodies) {
  EXPECT_EQ(read(std::make_shared<Pieces>(std::vector<std::string>{"one ", "two"})), "one two");
  EXPECT_TRUE(message.body.is_bytes());
  EXPECT_EQ(message.stream, nullptr);
  EXPECT_EQ(read(std::make_shared<Pieces>(std::vector<std::string>{})), "");
}

TEST_F(BodyStreams, AreReadOnce) {
  const auto stream = std::make_shared<Pieces>(std::vector<std::string>{"x"});
  EXPECT_EQ(*harness.run(next_block(*stream, 1)), "x");
  EXPECT_EQ(read(stream), "data");
  EXPECT_EQ(message.stream, stream);  // nobody takes a body that is gone for an empty one
  EXPECT_TRUE(message.body.is_null());
}

TEST_F(BodyStreams, DoNotFillTheMemory) {
  const std::vector<std::string> fits(10, std::string(1024 * 1024, 'x'));
  EXPECT_EQ(read(std::make_shared<Pieces>(fits)).size(), kStreamMemoryMax);
  std::vector<std::string> more = fits;
  more.emplace_back("y");
  const auto stream = std::make_shared<Pieces>(more);
  EXPECT_EQ(read(stream), "rejected");
  EXPECT_EQ(stream->reads, 11u);
}

TEST_F(BodyStreams, TellWhyTheyBrokeOff) {
  const auto stream = std::make_shared<Pieces>(std::vector<std::string>{"half"});
  stream->failure = Error(ErrorKind::transient, "gone");
  EXPECT_EQ(read(stream), "transient");
}

TEST_F(BodyStreams, ComeInBlocks) {
  Pieces stream({"ab", "cd", "ef", "g"});
  EXPECT_EQ(*harness.run(next_block(stream, 3)), "abcd");
  EXPECT_EQ(*harness.run(next_block(stream, 100)), "efg");
  EXPECT_EQ(*harness.run(next_block(stream, 3)), "");
}

}  // namespace
}  // namespace drom
