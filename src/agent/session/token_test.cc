// The token that a node joined for, on a disk that does not take it.
#include <filesystem>

#include "agent/session/session_test_bed.h"

namespace dove::agent {
namespace {

class TokenTest : public SessionTestBed {};

TEST_F(TokenTest, IsKeptOnceTheDiskTakesIt) {
  const std::string in_the_way = data_ + "/agent_token.new";
  std::filesystem::create_directories(in_the_way + "/full");
  options_.join_token = "once";
  make_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 1; })) << "it works meanwhile";
  EXPECT_EQ(read("agent_token"), "");
  std::filesystem::remove_all(in_the_way);
  ASSERT_TRUE(until([&] { return read("agent_token") == "secret-1"; }));
  restart_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_EQ(controller_.joins.size(), 1u);
}

}  // namespace
}  // namespace dove::agent
