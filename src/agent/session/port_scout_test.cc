#include "agent/session/port_scout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/session/fake_controllers_for_test.h"
#include "wire/tls/authority.h"

namespace dove::agent {
namespace {

using namespace std::chrono_literals;

class PortScoutTest : public testing::Test {
 protected:
  PortScoutTest() {
    std::string pattern = testing::TempDir() + "scout.XXXXXX";
    data_ = mkdtemp(pattern.data());
    const std::string digest = wire::Authority::make("test", std::time(nullptr) - 60).digest();
    uplink_ = std::make_unique<Uplink>(
        loop_,
        UplinkOptions{"n1", data_, {{true, "a", 7717, ""}, {true, "b", 7717, ""}}, "", digest});
    CHECK(uplink_->open().ok(), "the directory is empty");
    scout_.emplace(
        loop_, *uplink_, "n1", [this] { return in_session_; },
        [this](std::size_t place) { known_.push_back(place); });
  }
  ~PortScoutTest() override { std::filesystem::remove_all(data_); }

  // Between the questions to that one.
  std::vector<std::int64_t> pauses_us(const std::string& host) const {
    std::vector<std::int64_t> pauses;
    std::optional<std::int64_t> last_us;
    for (const FakeControllers::Question& one : world_.asked) {
      if (one.host != host) continue;
      if (last_us) pauses.push_back(one.at_us - *last_us);
      last_us = one.at_us;
    }
    return pauses;
  }

  FakeControllers world_;
  wire::Loop loop_{world_};
  std::string data_;
  bool in_session_ = true;
  std::unique_ptr<Uplink> uplink_;
  std::vector<std::size_t> known_;
  std::optional<PortScout> scout_;
};

TEST_F(PortScoutTest, AsksEachUntilItSaysWhereAgentsCall) {
  world_.words = {{"a", R"({"status":"ok","agents_port":7718})"}};
  scout_->begin();
  world_.run_for(31s);
  ASSERT_EQ(world_.asked.size(), 2U);
  EXPECT_EQ(world_.asked[0].host, "a");
  EXPECT_EQ(world_.asked[0].target, "GET /healthz");
  EXPECT_EQ(world_.asked[1].host, "b");
  EXPECT_EQ(uplink_->unknown_port(0), 1U);
  EXPECT_EQ(uplink_->address().port, 7718);
  EXPECT_EQ(known_, std::vector<std::size_t>{0});

  // A former version does not say, and a port is a number of some size.
  for (const char* words : {R"({"status":"ok"})", R"({"agents_port":0})",
                            R"({"agents_port":"7718"})", R"({"agents_port":65536})", "no JSON"}) {
    world_.words["b"] = words;
    const std::size_t before = world_.asked.size();
    world_.run_for(601s);
    EXPECT_EQ(uplink_->unknown_port(0), 1U) << words;
    EXPECT_EQ(world_.asked.back().host, "b") << "the other is known";
    EXPECT_GT(world_.asked.size(), before) << words;
  }
  world_.words["b"] = world_.words["a"];
  world_.run_for(601s);
  EXPECT_EQ(uplink_->unknown_port(0), std::nullopt);
  const std::size_t asked = world_.asked.size();
  world_.run_for(1200s);
  EXPECT_EQ(world_.asked.size(), asked);
}

// Each question of each node costs it a handshake.
TEST_F(PortScoutTest, AsksOneThatAnswersLessAndLessOften) {
  world_.words = {{"a", R"({"agents_port":7718})"}, {"b", R"({"status":"ok"})"}};
  scout_->begin();
  world_.run_for(3600s);
  const std::vector<std::int64_t> pauses = pauses_us("b");
  ASSERT_GE(pauses.size(), 5U);
  for (std::size_t i = 0; i < pauses.size(); ++i) {
    const std::int64_t least_us =
        std::min<std::int64_t>(60'000'000 << std::min<std::size_t>(i, 3), 300'000'000);
    EXPECT_GE(pauses[i], least_us) << i;
    EXPECT_LE(pauses[i], 2 * least_us + 1'000'000) << i;
  }
  // Once it was away, it may be of another version.
  world_.words["b"] = "";
  world_.run_for(601s);
  world_.words["b"] = R"({"agents_port":7719})";
  world_.run_for(41s);
  EXPECT_EQ(uplink_->unknown_port(0), std::nullopt);
}

TEST_F(PortScoutTest, AsksOneThatIsShutSoonAgain) {
  world_.words = {{"a", R"({"agents_port":7718})"}, {"b", R"({"agents_port":0})"}};
  scout_->begin();
  world_.run_for(31s);
  ASSERT_EQ(uplink_->unknown_port(0), 1U);
  world_.words["b"] = R"({"agents_port":7719})";
  world_.run_for(40s);
  EXPECT_EQ(uplink_->unknown_port(0), std::nullopt);
}

// As a port that somebody else has stays shut.
TEST_F(PortScoutTest, AsksOneThatStaysShutLessAndLessOften) {
  world_.words = {{"a", R"({"agents_port":7718})"}, {"b", R"({"agents_port":0})"}};
  scout_->begin();
  world_.run_for(7200s);
  const std::vector<std::int64_t> pauses = pauses_us("b");
  ASSERT_GE(pauses.size(), 6U);
  EXPECT_LE(pauses.size(), 30U);
  EXPECT_LE(pauses.front(), 41'000'000);
  EXPECT_GE(pauses.back(), 300'000'000);
}

TEST_F(PortScoutTest, WhatOneSaysDelaysNoQuestionToAnother) {
  world_.words = {{"a", R"({"status":"ok"})"}};
  scout_->begin();
  world_.run_for(3600s);
  for (const std::int64_t pause_us : pauses_us("b")) EXPECT_LE(pause_us, 41'000'000);
  EXPECT_GE(pauses_us("b").size(), 85U);
  EXPECT_LE(pauses_us("a").size(), 20U);
}

TEST_F(PortScoutTest, AsksOneThatIsDownMoreOften) {
  world_.words = {{"a", R"({"status":"ok","agents_port":7718})"}};
  scout_->begin();
  world_.run_for(200s);
  ASSERT_GE(world_.asked.size(), 5U);
  for (std::size_t i = 2; i < world_.asked.size(); ++i) {
    const std::int64_t pause_us = world_.asked[i].at_us - world_.asked[i - 1].at_us;
    EXPECT_GE(pause_us, 20'000'000);
    EXPECT_LE(pause_us, 41'000'000);
  }
  world_.words["b"] = world_.words["a"];
  world_.run_for(41s);
  EXPECT_EQ(uplink_->unknown_port(0), std::nullopt);
}

TEST_F(PortScoutTest, AsksNobodyWhileItsControllerIsLookedFor) {
  scout_->begin();
  in_session_ = false;
  world_.run_for(300s);
  EXPECT_TRUE(world_.asked.empty());
  in_session_ = true;
  scout_->begin();
  world_.run_for(31s);
  EXPECT_EQ(world_.asked.size(), 2U);
}

// It had moved there, or ended: whoever lost it asks again.
TEST_F(PortScoutTest, APortWhereNobodyListensIsAskedForAgain) {
  world_.words = {{"a", R"({"agents_port":7718})"}, {"b", R"({"agents_port":7719})"}};
  scout_->begin();
  world_.run_for(31s);
  ASSERT_EQ(uplink_->unknown_port(0), std::nullopt);
  uplink_->turn();
  EXPECT_EQ(uplink_->address().port, 7719);
  uplink_->forget_port();
  EXPECT_EQ(uplink_->unknown_port(0), 1U);
  world_.words["b"] = R"({"agents_port":7720})";
  scout_->begin();
  world_.run_for(31s);
  EXPECT_EQ(uplink_->unknown_port(0), std::nullopt);
  EXPECT_EQ(uplink_->address().port, 7720);
}

}  // namespace
}  // namespace dove::agent
