#include "agent/session/standing_lines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "agent/session/fake_controllers_for_test.h"
#include "wire/tls/authority.h"

namespace dove::agent {
namespace {

using namespace std::chrono_literals;

// A node in a session with `a`.
class StandingLinesTest : public testing::Test {
 protected:
  explicit StandingLinesTest(bool secure = true) {
    std::string pattern = testing::TempDir() + "standing.XXXXXX";
    data_ = mkdtemp(pattern.data());
    const std::string digest = wire::Authority::make("test", std::time(nullptr) - 60).digest();
    uplink_ = std::make_unique<Uplink>(
        loop_,
        UplinkOptions{"n1",
                      data_,
                      {{secure, "a", 7717, ""}, {secure, "b", 7717, ""}, {secure, "c", 7717, ""}},
                      "",
                      secure ? digest : ""});
    CHECK(uplink_->open().ok(), "the directory is empty");
    standing_.emplace(loop_, *uplink_, "n1", [this] { return in_session_; });
    world_.words = {{"a", "{}"}, {"b", "{}"}, {"c", "{}"}};
  }
  ~StandingLinesTest() override { std::filesystem::remove_all(data_); }

  std::int64_t asked(const std::string& host) const {
    return std::count_if(world_.asked.begin(), world_.asked.end(),
                         [&](const FakeControllers::Question& one) { return one.host == host; });
  }

  FakeControllers world_;
  wire::Loop loop_{world_};
  std::string data_;
  bool in_session_ = true;
  std::unique_ptr<Uplink> uplink_;
  std::optional<StandingLines> standing_;
};

TEST_F(StandingLinesTest, StandsAtTheOthersWhosePortsAreKnown) {
  uplink_->know_port(0, 7718U);
  uplink_->know_port(1, 7719U);
  standing_->begin();
  world_.run_for(31s);
  ASSERT_EQ(world_.asked.size(), 1U);
  EXPECT_EQ(world_.asked[0].host, "b");
  EXPECT_EQ(world_.asked[0].port, 7719);
  EXPECT_EQ(world_.asked[0].target, "GET /healthz");
  // A server closes what is idle for two minutes.
  std::int64_t last_us = world_.asked[0].at_us;
  world_.run_for(3600s);
  for (const FakeControllers::Question& one : world_.asked) {
    EXPECT_EQ(one.host, "b");
    EXPECT_LE(one.at_us - last_us, 76'000'000);
    last_us = one.at_us;
  }
  EXPECT_GE(world_.asked.size(), 48U);
  EXPECT_LE(world_.asked.size(), 82U);
}

TEST_F(StandingLinesTest, OneIsAskedAsSoonAsItsPortIsKnown) {
  uplink_->know_port(2, 7720U);
  standing_->keep(2);
  world_.run_for(1s);
  EXPECT_EQ(asked("c"), 1);
  // It has moved.
  uplink_->know_port(2, 7721U);
  standing_->keep(2);
  world_.run_for(1s);
  EXPECT_EQ(world_.asked.back().port, 7721);
}

TEST_F(StandingLinesTest, AsksNobodyOutsideASession) {
  uplink_->know_port(1, 7719U);
  standing_->begin();
  in_session_ = false;
  world_.run_for(600s);
  standing_->keep(1);
  world_.run_for(1s);
  EXPECT_TRUE(world_.asked.empty());
}

// Its machine may be gone, and have answered a minute ago.
TEST_F(StandingLinesTest, WhatStoodMustAnswerSoonAtFirst) {
  uplink_->know_port(1, 7719U);
  const auto usual = uplink_->answer_within();
  standing_->keep(1);
  world_.run_for(1s);
  EXPECT_EQ(uplink_->answer_within(), usual) << "of the session's own";
  uplink_->turn();
  EXPECT_EQ(uplink_->answer_within(), 3s);
  uplink_->turn();
  uplink_->turn();
  uplink_->turn();
  EXPECT_EQ(uplink_->answer_within(), usual) << "it was asked, and may have too much to do";
}

TEST_F(StandingLinesTest, OneThatDoesNotAnswerDoesNotStand) {
  uplink_->know_port(1, 7719U);
  const auto usual = uplink_->answer_within();
  standing_->keep(1);
  world_.run_for(1s);
  world_.words["b"] = "";
  standing_->keep(1);
  world_.run_for(1s);
  uplink_->turn();
  EXPECT_EQ(uplink_->answer_within(), usual);
}

class PlainStandingLinesTest : public StandingLinesTest {
 protected:
  PlainStandingLinesTest() : StandingLinesTest(false) {}
};

TEST_F(PlainStandingLinesTest, WithoutTlsThereIsNothingToMakeBefore) {
  standing_->begin();
  world_.run_for(600s);
  EXPECT_TRUE(world_.asked.empty());
}

}  // namespace
}  // namespace dove::agent
