// What a launch tells its agents of the job's time limit.
#include <gtest/gtest.h>

#include <atomic>

#include "server/api_fixture.h"

namespace dove::server {
namespace {

// The agent counts the time to the signal of --signal by what the launch says.
TEST(LaunchLimits, ALaunchNamesWhatIsLeftOfTheLimitOfAJobThatSaves) {
  std::atomic<std::int64_t> now_us = 1'700'000'000'000'000;
  store::MemoryStore store;
  LiveApi live{
      store, policies::standard_policies(), {.clock = [&now_us] { return now_us.load(); }}};
  FakeAgent agent(live, "n1");
  agent.connect();
  Json body = small_job_body();
  body["preempt"] = "checkpoint";
  body["time_limit_s"] = 60;
  const std::uint64_t job = live.submit(body);
  EXPECT_EQ(agent.wait_line("launch").at("spec").at("time_limit_us"), 60'000'000);
  ASSERT_EQ(agent.tell("started", job, 1).status, 200);
  now_us += 3'000'000;
  const std::string target = "/v1/jobs/" + std::to_string(job);
  ASSERT_EQ(live.call("POST", target + "/requeue", Json::object()).status, 200);
  agent.wait_line("stop");
  agent.lines.clear();
  ASSERT_EQ(agent.tell("ended", job, 1, {{"exits", {FakeAgent::exit_of(0, 0)}}}).status, 200);
  EXPECT_EQ(agent.wait_line("launch").at("spec").at("time_limit_us"), 57'000'000);
  ASSERT_EQ(agent.tell("started", job, 2).status, 200);
  EXPECT_EQ(live.call("GET", target).body.at("ends_by_us"), now_us + 57'000'000);
}

}  // namespace
}  // namespace dove::server
