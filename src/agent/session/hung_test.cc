// An agent whose directory of users does not answer: what waits for it waits alone.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>

#include "agent/aside/linux_user.h"
#include "agent/session/session_test_bed.h"

namespace dove::agent {
namespace {

class HungTest : public SessionTestBed {
 protected:
  HungTest() {
    scripted_ = true;
    ask_of_linux_users([state = state_](const std::string& name) {
      if (state->hangs) {
        ++state->hung;
        state->open.wait();
      }
      state->asked_of_ann += name == "ann" ? 1 : 0;
      if (state->away) return Result<LinuxUser>(away(name));
      return Result<LinuxUser>(LinuxUser{name, "/", "/bin/sh", name.empty() ? 0U : 1U, 1, {}});
    });
  }
  ~HungTest() override {
    let_go();
    ask_of_linux_users(nullptr);
  }
  void let_go() {
    if (!std::exchange(is_open_, true)) state_->promise.set_value();
  }
  static Error away(const std::string& name) {
    return Error{ErrorKind::kUnavailable, kUsers_away, "nobody can tell who " + name + " is", ""};
  }
  // The next look-up hangs.
  void launch_hung(std::uint64_t job) {
    const int before = state_->hung;
    state_->hangs = true;
    controller_.line(launch(job, 1, 1, false));
    ASSERT_TRUE(until([&] { return state_->hung > before; }));
    state_->hangs = false;
  }

  struct State {
    std::atomic<bool> hangs = false;
    std::atomic<int> hung = 0;
    std::atomic<bool> away = false;
    std::atomic<int> asked_of_ann = 0;
    std::promise<void> promise;
    std::shared_future<void> open = promise.get_future().share();
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  bool is_open_ = false;
};

TEST_F(HungTest, HeartbeatsLeaseAndOtherJobsGoOn) {
  connect_agent();
  launch_hung(7);
  const std::size_t reports = controller_.reports.size();
  const std::size_t renewals = renewals_.size();
  controller_.line(launch(8, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  EXPECT_TRUE(reported("started", 8));
  EXPECT_TRUE(until(
      [&] { return controller_.reports.size() > reports + 3 && renewals_.size() > renewals + 3; }));
  EXPECT_EQ(controller_.streams, 1) << "in the same session";
  EXPECT_FALSE(reported_now("started", 7));
  EXPECT_FALSE(reported_now("launch_failed", 7)) << "it may still get what it waits for";
}

TEST_F(HungTest, WhatWaitedStartsOnceThereIsAnAnswer) {
  connect_agent();
  launch_hung(7);
  EXPECT_FALSE(script_.has("r0"));
  let_go();
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  EXPECT_TRUE(reported("started", 7));
}

TEST_F(HungTest, WhatWaitsIsStoppedAtOnce) {
  connect_agent();
  launch_hung(7);
  controller_.line(R"({"seq":12,"epoch":5,"order":"stop","job":7,"attempt":1})");
  EXPECT_TRUE(reported("ended", 7));
  let_go();
  controller_.line(launch(8, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  EXPECT_FALSE(exists("attempts/7.1/task.r0")) << "and never starts";
}

TEST_F(HungTest, WhatGetsNoAnswerSaysWhatItWaitedFor) {
  options_.needs_limit = std::chrono::milliseconds(20);
  connect_agent();
  launch_hung(7);
  ASSERT_TRUE(reported("launch_failed", 7));
  const std::string why = event("launch_failed", 7)["why"];
  EXPECT_NE(why.find("node n1 did not get an answer"), std::string::npos) << why;
  EXPECT_NE(why.find("look at its mounts"), std::string::npos) << why;
}

// SSSD is being restarted.
TEST_F(HungTest, AUserWhomNobodyKnowsForNowIsAskedForAgain) {
  options_.mapped_users = true;
  connect_agent();
  state_->away = true;
  Json order = Json::parse(launch(7, 1, 1, false));
  order["linux_user"] = "ann";
  controller_.line(order.dump());
  ASSERT_TRUE(until([&] { return state_->asked_of_ann > 1; }));
  EXPECT_FALSE(reported_now("launch_failed", 7));
  state_->away = false;
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  EXPECT_TRUE(reported("started", 7));
}

TEST_F(HungTest, NobodyIsAskedForForEver) {
  options_.mapped_users = true;
  options_.needs_limit = std::chrono::milliseconds(500);
  connect_agent();
  state_->away = true;
  Json order = Json::parse(launch(7, 1, 1, false));
  order["linux_user"] = "ann";
  controller_.line(order.dump());
  ASSERT_TRUE(reported("launch_failed", 7));
  EXPECT_EQ(event("launch_failed", 7)["why"], away("ann").message);
}

TEST_F(HungTest, AnAgentStartsWithoutThem) {
  connect_agent();
  controller_.line(launch(7, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  EXPECT_TRUE(reported("started", 7));
  state_->hangs = true;
  restart_agent();
  EXPECT_TRUE(script_.adopted("r0")) << "what runs is taken up";
  EXPECT_TRUE(until([&] { return controller_.streams == 2; }));
}

}  // namespace
}  // namespace dove::agent
