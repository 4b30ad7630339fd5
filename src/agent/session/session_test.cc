// The agent against a controller that does what the test says, over real sockets.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "agent/agent.h"
#include "agent/session/session_test_bed.h"
#include "agent/tasks/null_runner.h"

namespace dove::agent {
namespace {

using Json = nlohmann::json;

class SessionTest : public SessionTestBed {};

TEST_F(SessionTest, JoinsOnceAndKeepsItsTokenForItself) {
  options_.join_token = "once";
  make_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 1; }));
  ASSERT_EQ(controller_.joins.size(), 1u);
  EXPECT_EQ(controller_.joins[0]["name"], "n1");
  EXPECT_EQ(controller_.join_authorization, "Bearer once");
  EXPECT_EQ(controller_.last_authorization, "Bearer secret-1");
  EXPECT_EQ(read("agent_token"), "secret-1");
  struct stat facts {};
  ASSERT_EQ(::stat((data_ + "/agent_token").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);

  restart_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_EQ(controller_.joins.size(), 1u);
}

TEST_F(SessionTest, ASecondAgentOnTheSameDirectoryIsToldSo) {
  make_agent();
  Agent other(loop_, options_, Inventory(), runner_);
  const Result<void> started = other.start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("another agent runs"), std::string::npos);
}

TEST_F(SessionTest, SyncsWithWhatItIs) {
  connect_agent();
  const Json& sync = controller_.syncs.at(0);
  EXPECT_EQ(sync["protocol"], 1);
  EXPECT_EQ(sync["boot_id"], "boot-1");
  EXPECT_EQ(sync["version"], "9.9");
  EXPECT_EQ(sync["placements"], Json::array());
  EXPECT_TRUE(sync["inventory"].is_object());
  ASSERT_TRUE(until([&] { return controller_.reports.size() >= 2; })) << "heartbeats";
  EXPECT_EQ(controller_.reports[0]["session"], controller_.session());
  EXPECT_EQ(controller_.reports[1]["report"], 2);
}

TEST_F(SessionTest, TellsOnceThatDevicesChanged) {
  connect_agent();
  Inventory changed;
  changed.devices.push_back(Device{"lost", "nvidia", "H200", "GPU-1", 1, 0});
  agent_->set_inventory(changed);
  const auto told = [&] {
    return std::count_if(controller_.reports.begin(), controller_.reports.end(),
                         [](const Json& report) { return report.contains("inventory"); });
  };
  ASSERT_TRUE(until([&] { return told() == 1; }));
  EXPECT_EQ(controller_.reports.back()["inventory"]["devices"][0]["kind"], "lost");
  const std::size_t before = controller_.reports.size();
  agent_->set_inventory(changed);
  ASSERT_TRUE(until([&] { return controller_.reports.size() >= before + 2; })) << "heartbeats";
  EXPECT_EQ(told(), 1);
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  EXPECT_EQ(controller_.syncs[1]["inventory"]["devices"][0]["kind"], "lost");
}

// A closed stream is a break, after which the controller waits for the fence alone.
TEST_F(SessionTest, DoesNotCloseTheStreamOfASilentController) {
  options_.stream_silence_us = 100'000;
  connect_agent();
  controller_.holds_sync = true;
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  EXPECT_FALSE(agent_->connected());
  EXPECT_EQ(controller_.streams_closed, 0);
  const std::size_t renewed = renewals_.size();
  EXPECT_TRUE(until([&] { return renewals_.size() > renewed + 2; })) << "it may count on the grace";
  controller_.release_sync();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
}

TEST_F(SessionTest, RunsATaskOfTheNullRunnerFromLaunchToForget) {
  connect_agent();
  controller_.line(launch(7, 1, 1, /*barrier=*/true, {{"DOVE_NULL_EXIT_CODE", "3"}}));
  ASSERT_TRUE(reported("prepared", 7));
  EXPECT_FALSE(reported_now("started", 7));
  controller_.line(R"({"seq":12,"epoch":5,"order":"start","job":7,"attempt":1})");
  ASSERT_TRUE(reported("ended", 7));
  EXPECT_TRUE(reported_now("started", 7));
  const Json ended = event("ended", 7);
  EXPECT_EQ(ended["exits"][0]["exit_code"], 3);
  EXPECT_TRUE(exists("attempts/7.1/record"));
  controller_.line(R"({"forget":[{"job":7,"attempt":1}]})");
  ASSERT_TRUE(until([&] { return exists("finished/7.1/record"); }));
  EXPECT_FALSE(exists("attempts/7.1"));
}

TEST_F(SessionTest, ARepeatedLaunchRepeatsTheReport) {
  connect_agent();
  const std::string order = launch(7, 1, 1, true);
  controller_.line(order);
  ASSERT_TRUE(reported("prepared", 7));
  controller_.line(order);
  ASSERT_TRUE(until([&] { return count("prepared", 7) == 2; }));
}

TEST_F(SessionTest, AStopOfWhatIsNotHereIsAnEnd) {
  connect_agent();
  controller_.line(R"({"seq":12,"epoch":5,"order":"stop","job":9,"attempt":2})");
  ASSERT_TRUE(reported("ended", 9));
  EXPECT_EQ(event("ended", 9)["attempt"], 2);
}

TEST_F(SessionTest, StopsATaskThatRuns) {
  scripted_ = true;
  connect_agent();
  controller_.line(launch(7, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  ASSERT_TRUE(reported("started", 7));
  controller_.line(R"({"seq":12,"epoch":5,"order":"stop","job":7,"attempt":1})");
  ASSERT_TRUE(until([&] { return script_.stopped("r0"); }));
  EXPECT_FALSE(reported_now("ended", 7)) << "not before nothing is left";
  script_.end("r0", 0);
  ASSERT_TRUE(reported("ended", 7));
}

TEST_F(SessionTest, AnOrderThatCannotBeReadIsALaunchFailure) {
  connect_agent();
  controller_.line(R"({"seq":11,"epoch":5,"order":"launch","job":7,"attempt":1})");
  ASSERT_TRUE(reported("launch_failed", 7));
  controller_.line("no json");
  controller_.line(R"({"seq":"twelve","order":1})");
  controller_.line(R"([1])");
  controller_.line(R"({"seq":12,"epoch":5,"order":"stop","job":8,"attempt":1})");
  ASSERT_TRUE(reported("ended", 8)) << "and the agent lives on";
}

TEST_F(SessionTest, AnOrderOfAnOlderEpochIsRefused) {
  connect_agent();
  Json old = Json::parse(launch(7, 1, 1, false));
  old["epoch"] = 4;
  controller_.line(old.dump());
  ASSERT_TRUE(reported("refused", 7));
  EXPECT_EQ(count("started", 7), 0);
  EXPECT_FALSE(exists("attempts/7.1"));
}

TEST_F(SessionTest, AnUnansweredReportIsSentAgain) {
  connect_agent();
  // That one alone: behind a heartbeat that is not answered, it would not come.
  controller_.unanswered_event = "prepared";
  controller_.line(launch(7, 1, 1, true));
  ASSERT_TRUE(reported("prepared", 7));
  const std::size_t syncs = controller_.syncs.size();
  controller_.drop();
  controller_.unanswered_event.clear();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() > syncs; }));
  EXPECT_EQ(controller_.syncs.back()["placements"][0]["stage"], "prepared");
  ASSERT_TRUE(until([&] { return controller_.last_event_session == "s2"; }));
  EXPECT_GE(count("prepared", 7), 2);
}

TEST_F(SessionTest, AFullDiskAtTheControllerEndsNoSession) {
  connect_agent();
  controller_.report_status = 503;
  controller_.line(launch(7, 1, 1, true));
  ASSERT_TRUE(reported("prepared", 7));
  controller_.report_status = 200;
  ASSERT_TRUE(until([&] { return count("prepared", 7) == 2; }));
  EXPECT_EQ(controller_.syncs.size(), 1u);
}

TEST_F(SessionTest, SyncsAgainWhenAsked) {
  connect_agent();
  controller_.resync = true;
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  controller_.resync = false;
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
}

TEST_F(SessionTest, ARefusedReportDoesNotSpin) {
  controller_.report_status = 400;
  connect_agent();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 4; }));
  EXPECT_LT(controller_.reports.size(), 8u);
}

TEST_F(SessionTest, WhatWasInterruptedBeforeItsStartIsStartedAfterTheSync) {
  scripted_ = true;
  connect_agent();
  controller_.line(launch(7, 1, 1, /*barrier=*/true));
  ASSERT_TRUE(reported("prepared", 7));
  // As if killed between the order and the start of a launch without barrier.
  std::ofstream(data_ + "/attempts/7.1/record") << launch(7, 1, 1, false) << "\n";
  stop_agent();
  controller_.holds_sync = true;
  make_agent();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() == 2; }));
  EXPECT_FALSE(script_.has("r0")) << "the ledger may have given it to another node";
  controller_.release_sync();
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
}

TEST_F(SessionTest, ARestartedAgentEndsWhatItCannotRead) {
  scripted_ = true;
  const std::string attempt = data_ + "/attempts/7.1";
  std::filesystem::create_directories(attempt);
  std::ofstream(attempt + "/task.r3") << "";
  std::ofstream(attempt + "/task.s2.1") << "";
  std::ofstream(attempt + "/record") << "{\"of\": \"a later version\"}\n";
  connect_agent();
  EXPECT_EQ(controller_.syncs[0]["placements"][0]["stage"], "started");
  EXPECT_EQ(controller_.syncs[0]["steps"][0]["step"], 2);
  EXPECT_TRUE(script_.stopped("r3"));
  EXPECT_TRUE(script_.stopped("s2.1"));
  script_.end("r3", 1);
  script_.end("s2.1", 1);
  ASSERT_TRUE(reported("ended", 7));
  EXPECT_EQ(event("ended", 7)["exits"][0]["rank"], 3);
}

TEST_F(SessionTest, StepsAreTakenUpAfterARestart) {
  scripted_ = true;
  connect_agent();
  controller_.line(launch(7, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  ASSERT_TRUE(reported("started", 7));
  controller_.line(step(7, 4, 2));
  ASSERT_TRUE(until([&] { return script_.has("s4.2"); }));
  restart_agent();
  ASSERT_TRUE(until([&] { return script_.adopted("s4.2") && controller_.streams == 2; }));
  script_.end("r0", 0);
  ASSERT_TRUE(until([&] { return script_.stopped("s4.2"); }));
  EXPECT_FALSE(reported_now("ended", 7)) << "a task of a step still runs";
  script_.end("s4.2", 0);
  ASSERT_TRUE(reported("ended", 7));
  EXPECT_TRUE(reported_now("step_ended", 7));
}

TEST_F(SessionTest, AStepSendsItsOutputBeforeItsEnd) {
  scripted_ = true;
  connect_agent();
  controller_.line(launch(7, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  controller_.line(step(7, 4, 2));
  ASSERT_TRUE(until([&] { return script_.has("s4.2"); }));
  controller_.holds_chunks = true;
  script_.write("s4.2", "hello\n");
  script_.end("s4.2", 6);
  ASSERT_TRUE(until([&] { return controller_.relayed("step-4") == "hello\n"; }));
  const std::size_t beats = controller_.reports.size();
  ASSERT_TRUE(until([&] { return controller_.reports.size() >= beats + 2; }))
      << "a slow reader holds up no reports";
  EXPECT_FALSE(reported_now("step_ended", 7));
  controller_.release_chunks();
  ASSERT_TRUE(reported("step_ended", 7));
  EXPECT_EQ(event("step_ended", 7)["exits"][0]["exit_code"], 6);
  EXPECT_NE(controller_.relay_targets[0].find("rank=2&stream=stdout"), std::string::npos);
  controller_.line(step(7, 4, 2));
  controller_.line(R"({"seq":30,"epoch":5,"order":"stop","job":99,"attempt":1})");
  ASSERT_TRUE(reported("ended", 99));
  EXPECT_EQ(count("step_ended", 7), 1) << "a repeated step starts nothing";
}

TEST_F(SessionTest, FollowsTheLogOfATaskToItsEnd) {
  scripted_ = true;
  connect_agent();
  controller_.line(launch(7, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  script_.start("r0");
  script_.write("r0", "one\n");
  controller_.line(relay("log-1", 7, true));
  ASSERT_TRUE(until([&] { return controller_.relayed("log-1") == "one\n"; }));
  script_.write("r0", "two\n");
  ASSERT_TRUE(until([&] { return controller_.relayed("log-1") == "one\ntwo\n"; }));
  script_.rotate("r0");
  script_.write("r0", "three\n");
  ASSERT_TRUE(until([&] { return controller_.relayed("log-1") == "one\ntwo\nthree\n"; }));
  EXPECT_FALSE(controller_.relay_ended("log-1"));
  script_.end("r0", 0);
  ASSERT_TRUE(until([&] { return controller_.relay_ended("log-1"); }));
  ASSERT_TRUE(reported("ended", 7));
  controller_.line(R"({"forget":[{"job":7,"attempt":1}]})");
  controller_.line(relay("log-2", 7, true));
  ASSERT_TRUE(until([&] { return controller_.relay_ended("log-2"); }));
  EXPECT_EQ(controller_.relayed("log-2"), "three\n");
  controller_.line(relay("log-3", 12345, true));
  ASSERT_TRUE(until([&] { return controller_.relay_ended("log-3"); }));
}

TEST_F(SessionTest, RenewsTheLeaseInASession) {
  connect_agent();
  const std::size_t before = renewals_.size();
  EXPECT_GT(before, 0u);
  ASSERT_TRUE(until([&] { return renewals_.size() >= before + 3; }));
  EXPECT_GT(renewals_.back(), renewals_.front());
}

TEST_F(SessionTest, RenewsWithinTheGraceWhenTheControllerIsDown) {
  connect_agent();
  controller_.kill();
  ASSERT_TRUE(until([&] { return !agent_->connected(); }));
  const std::size_t before = renewals_.size();
  ASSERT_TRUE(until([&] { return renewals_.size() >= before + 3; }));
}

TEST_F(SessionTest, RenewsNoLongerThanTheGraceForOneThatIsSilent) {
  controller_.grace_us = 150'000;
  options_.stream_silence_us = 100'000;
  connect_agent();
  controller_.answers_reports = false;
  controller_.mute = true;
  const std::int64_t silent_at_us = telemetry::monotonic_us();
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > silent_at_us + 700'000; }));
  constexpr std::int64_t kUnderWay_us = 4 * 30'000;
  EXPECT_LE(renewals_.back(),
            silent_at_us + 150'000 + kUnderWay_us + controller_.fence_us + 50'000);
}

TEST_F(SessionTest, RenewsBeyondTheGraceWhileTheControllersProcessIsDown) {
  controller_.grace_us = 150'000;
  connect_agent();
  controller_.kill();
  const std::int64_t down_at_us = telemetry::monotonic_us();
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > down_at_us + 600'000; }));
  EXPECT_GT(renewals_.back(), down_at_us + 400'000);
  restart_agent();
  renewals_.clear();
  ASSERT_TRUE(until([&] { return renewals_.size() >= 3; })) << "and so does the next agent";
}

// Its machine is down next: nobody refuses connections, and nobody answers.
TEST_F(SessionTest, AfterAFarewellItWaitsForTheGraceOfAnOutage) {
  controller_.grace_us = 150'000;
  controller_.outage_grace_us = 900'000;
  connect_agent();
  controller_.line(R"({"bye":true,"epoch":5})");
  const std::size_t beats = controller_.reports.size();
  ASSERT_TRUE(until([&] { return controller_.reports.size() >= beats + 2; })) << "it has come";
  const std::int64_t bye_at_us = telemetry::monotonic_us();
  controller_.mute = true;
  controller_.drop();
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > bye_at_us + 600'000; }));
  EXPECT_GT(renewals_.back(), bye_at_us + 400'000);
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > bye_at_us + 1'500'000; }));
  EXPECT_LE(renewals_.back(), bye_at_us + 950'000 + controller_.fence_us);
}

// It may have been taken for a session whose loss the controller counts like any other.
TEST_F(SessionTest, ASyncThatMayHaveBeenHeardEndsTheGraceOfAnOutage) {
  controller_.grace_us = 150'000;
  connect_agent();
  controller_.kill();
  ASSERT_TRUE(until([&] { return !agent_->connected(); }));
  controller_.gives_tickets = true;
  controller_.holds_sync = true;
  controller_.revive();
  ASSERT_TRUE(until([&] { return controller_.syncs.back()["ticket"] == "ticket-1"; }));
  const std::int64_t sent_at_us = telemetry::monotonic_us();
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > sent_at_us + 600'000; }));
  EXPECT_LE(renewals_.back(), sent_at_us + 150'000 + controller_.fence_us);
}

TEST_F(SessionTest, SaysWhichMachineAndBootItIsAndProvesWhatItHasSeen) {
  options_.machine_id = "m-1";
  connect_agent();
  EXPECT_EQ(controller_.syncs[0]["machine_id"], "m-1");
  EXPECT_EQ(controller_.syncs[0]["former_boot_id"], "");
  EXPECT_EQ(controller_.syncs[0]["log_head_seen"], 0);
  options_.boot_id = "boot-2";
  restart_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
  EXPECT_EQ(controller_.syncs[1]["former_boot_id"], "boot-1");
  EXPECT_EQ(controller_.syncs[1]["log_head_seen"], 10);
  EXPECT_EQ(controller_.syncs[1]["head_proof"], "proof-10");
  stop_agent();
  Contact::open(data_ + "/contact", std::chrono::seconds(0))->forget_records();
  make_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 3; }));
  EXPECT_EQ(controller_.syncs[2]["log_head_seen"], 0) << "it was told to forget that";
  EXPECT_EQ(controller_.syncs[2]["former_boot_id"], "boot-2");
  stop_agent();
  std::ofstream(data_ + "/contact", std::ios::in) << "torn";
  make_agent();
  ASSERT_TRUE(until([&] { return controller_.streams == 4; }));
  EXPECT_EQ(controller_.syncs[3]["log_head_seen"], 0) << "a torn file says nothing";
}

TEST_F(SessionTest, RenewsNothingForAControllerThatRefuses) {
  connect_agent();
  controller_.sync_status = 409;
  controller_.drop();
  ASSERT_TRUE(until([&] { return agent_->refused().has_value(); }));
  const std::size_t before = renewals_.size();
  const std::size_t syncs = controller_.syncs.size();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= syncs + 2; }));
  EXPECT_EQ(renewals_.size(), before);
}

TEST_F(SessionTest, RenewsForAControllerThatIsThereButCannotWrite) {
  controller_.grace_us = 150'000;
  connect_agent();
  controller_.sync_status = 503;
  controller_.drop();
  ASSERT_TRUE(until([&] { return controller_.syncs.size() >= 2; }));
  const std::int64_t refused_at_us = telemetry::monotonic_us();
  // Far longer than the grace, as each answer begins it anew.
  ASSERT_TRUE(until([&] { return telemetry::monotonic_us() > refused_at_us + 1'500'000; }));
  EXPECT_GT(renewals_.back(), refused_at_us + 1'000'000);
  EXPECT_FALSE(agent_->refused().has_value());
  controller_.sync_status = 200;
  ASSERT_TRUE(until([&] { return controller_.streams == 2; }));
}

TEST_F(SessionTest, RenewsNothingAfterABreakUntilItKnowsMore) {
  connect_agent();
  controller_.holds_sync = true;
  controller_.drop();
  ASSERT_TRUE(until([&] { return !agent_->connected(); }));
  const std::size_t before = renewals_.size();
  const std::int64_t broke_at_us = telemetry::monotonic_us();
  ASSERT_TRUE(until([&] {
    return controller_.syncs.size() == 2 &&
           telemetry::monotonic_us() > broke_at_us + controller_.fence_us;
  }));
  EXPECT_EQ(renewals_.size(), before);
  controller_.release_sync();
  ASSERT_TRUE(until([&] { return renewals_.size() > before; }));
}

TEST_F(SessionTest, StopsAllForAClusterThatGoesDown) {
  scripted_ = true;
  connect_agent();
  controller_.line(launch(7, 1, 1, false));
  ASSERT_TRUE(until([&] { return script_.has("r0"); }));
  bool done = false;
  agent_->stop_all([&](bool over) { done = over; });
  EXPECT_TRUE(script_.stopped("r0"));
  EXPECT_FALSE(done);
  script_.end("r0", 0);
  ASSERT_TRUE(until([&] { return done; }));
}

TEST_F(SessionTest, WhatNetworksOfferIsToldWhenItChanges) {
  NetworkOffer offer{"no nft", "", false};
  options_.not_enforced = "no cgroups";
  options_.network_offer = [&] { return offer; };
  connect_agent();
  EXPECT_EQ(controller_.syncs[0]["not_enforced"], "no cgroups; no nft");
  EXPECT_EQ(controller_.syncs[0]["inventory"]["has_overlay"], false);
  offer = {"", "http://100.112.0.1:1", true};
  agent_->set_inventory(Inventory());  // a look at the devices
  const auto told = [&] {
    for (const Json& report : controller_.reports) {
      if (report.contains("not_enforced")) return true;
    }
    return false;
  };
  ASSERT_TRUE(until(told));
  const Json last = controller_.reports.back();
  EXPECT_EQ(last["not_enforced"], "no cgroups");
  EXPECT_EQ(last["inventory"]["has_overlay"], true);
  controller_.reports.clear();
  agent_->set_inventory(Inventory());
  ASSERT_TRUE(until([&] { return controller_.reports.size() > 1; }));
  EXPECT_FALSE(told()) << "nothing has changed";
  devices::Fabric fabric;
  fabric.cards.emplace_back();  // a network of a gang would leave it idle
  agent_->set_fabric(fabric);
  ASSERT_TRUE(until(told));
  EXPECT_FALSE(agent_->inventory().has_overlay);
}

}  // namespace
}  // namespace dove::agent
