#include "agent/health/ring.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dove::agent {
namespace {

constexpr std::chrono::seconds kLong{20};

// Rings of one attempt, each with the hub of its node, on one loop.
class RingTest : public testing::Test {
 protected:
  void nodes(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      hubs_.push_back(std::make_unique<RingHub>(loop_));
      ASSERT_TRUE(hubs_.back()->listen("127.0.0.1").ok());
      peers_.push_back({"n" + std::to_string(i), "127.0.0.1", hubs_.back()->port()});
    }
    ended_.resize(count);
    rings_.resize(count);
  }
  RingPlan plan(std::size_t rank) const {
    RingPlan plan;
    plan.key = "7.1";
    plan.secret = "s";
    plan.rank = rank;
    plan.peers = peers_;
    plan.words = 1001;  // not a multiple of the nodes
    return plan;
  }
  void start(std::size_t rank, RingPlan plan) {
    rings_[rank] = std::make_unique<Ring>(
        loop_, *hubs_[rank], std::move(plan),
        [this, rank](std::optional<RingFailure> failure) { ended_[rank].emplace(failure); });
  }
  bool all_ended() {
    return loop_.run_until(
        [this] {
          return std::all_of(ended_.begin(), ended_.end(),
                             [](const auto& one) { return one.has_value(); });
        },
        kLong);
  }

  wire::Loop loop_;
  std::vector<std::unique_ptr<RingHub>> hubs_;
  std::vector<RingPeer> peers_;
  std::vector<std::optional<std::optional<RingFailure>>> ended_;
  std::vector<std::unique_ptr<Ring>> rings_;
};

TEST_F(RingTest, SumsUpAmongTwoThreeAndFive) {
  for (const std::size_t count : {2, 3, 5}) {
    rings_.clear();
    hubs_.clear();
    peers_.clear();
    ended_.clear();
    nodes(count);
    for (std::size_t i = 0; i < count; ++i) start(i, plan(i));
    ASSERT_TRUE(all_ended());
    for (const auto& end : ended_) EXPECT_FALSE(end->has_value()) << (*end)->evidence;
  }
}

TEST_F(RingTest, WaitsForANodeThatBeginsLater) {
  nodes(3);
  start(0, plan(0));
  start(2, plan(2));
  loop_.run_until([] { return false; }, std::chrono::milliseconds(200));
  start(1, plan(1));
  ASSERT_TRUE(all_ended());
  for (const auto& end : ended_) EXPECT_FALSE(end->has_value());
}

TEST_F(RingTest, WhoCannotReachTheNextNodeNamesIt) {
  nodes(3);
  hubs_[1].reset();  // refuses connections
  for (const std::size_t i : {0, 2}) {
    RingPlan one = plan(i);
    one.limit = std::chrono::milliseconds(300);
    start(i, std::move(one));
  }
  ASSERT_TRUE(loop_.run_until([this] { return ended_[0].has_value(); }, kLong));
  ASSERT_TRUE(ended_[0]->has_value());
  EXPECT_EQ((*ended_[0])->peer, "n1");
  EXPECT_FALSE(ended_[2].has_value());  // it only waits: that is for others to explain, for a while
  ASSERT_TRUE(loop_.run_until([this] { return ended_[2].has_value(); }, kLong));
  EXPECT_EQ((*ended_[2])->peer, "n1");
}

TEST_F(RingTest, ALinkThatIsTooSlowIsNamed) {
  nodes(2);
  RingPlan wants = plan(0);
  wants.bytes_per_s_min = std::int64_t{1} << 50;
  start(0, std::move(wants));
  start(1, plan(1));
  ASSERT_TRUE(all_ended());
  ASSERT_TRUE(ended_[0]->has_value());
  EXPECT_EQ((*ended_[0])->peer, "n1");
  EXPECT_NE((*ended_[0])->evidence.find("MB/s are wanted"), std::string::npos);
  EXPECT_FALSE(ended_[1]->has_value());
}

TEST_F(RingTest, NumbersThatAreWrongAndStrangersAreNoticed) {
  nodes(2);
  RingPlan other = plan(1);
  other.rank = 1;
  other.words = 999;  // another length: another program
  start(0, plan(0));
  start(1, std::move(other));
  ASSERT_TRUE(loop_.run_until([this] { return ended_[0].has_value(); }, kLong));
  ASSERT_TRUE(ended_[0]->has_value());
  EXPECT_NE((*ended_[0])->evidence.find("in place of"), std::string::npos);

  for (auto& ring : rings_) ring.reset();
  ended_.assign(2, std::nullopt);
  RingPlan stranger = plan(1);
  stranger.secret = "another";
  stranger.limit = std::chrono::milliseconds(200);
  start(0, plan(0));
  start(1, std::move(stranger));
  ASSERT_TRUE(loop_.run_until([this] { return ended_[1].has_value(); }, kLong));
  ASSERT_TRUE(ended_[1]->has_value());
  EXPECT_EQ((*ended_[1])->evidence, "it answered 403");
}

}  // namespace
}  // namespace dove::agent
