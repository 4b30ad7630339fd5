// A job whose executor will never run it, as its adapter says.
#include "server/executors/executors_fixture.h"

namespace dove::server {
namespace {

class UserRefusedTest : public ExecutorsTest {};

TEST_F(UserRefusedTest, ItsJobFailsWithTheReasonAndDoesNotAskForEver) {
  const Json declared = {{"service_account", "slurm-1"},
                         {"nodes", {"n1"}},
                         {"placeholders", false},
                         {"runs_jobs", true}};
  ASSERT_LT(live.call("PUT", "/v1/objects/executor/slurm", declared).status, 300);
  sync(said());
  Json body = small_job_body();
  body["executor"] = "slurm";
  const std::uint64_t job = live.submit(body);
  const std::string path = "/v1/jobs/" + std::to_string(job);
  const std::string why = "there is no Linux user \"ghost\" on head-1";
  ASSERT_TRUE(live.until([&] {
    const Json shown = live.call("GET", path).body;
    if (shown.at("state") == "failed") return true;
    if (shown.at("attempts").empty()) return false;
    const Json key = {{"job", job},
                      {"attempt", shown.at("attempts").back().at("number")},
                      {"node", "n1"},
                      {"why", why}};
    Json refused = key;
    refused["state"] = "refused";
    Json ended = key;
    ended["state"] = "ended";
    sync(said({{"placeholders", {refused}}, {"works", {ended}}}));
    return false;
  }));
  const Json shown = live.call("GET", path).body;
  EXPECT_EQ(shown.at("attempts").back().at("stop_reason"), "launch_failed");
  EXPECT_TRUE(shown.at("attempts").back().at("exits").empty()) << "nothing ran";
  const Json said =
      live.call("GET", "/v1/events?kind=LaunchFailed&job=" + std::to_string(job)).body;
  EXPECT_EQ(said.at("events").back().at("data").at("why"), why) << "dove show prints it";
  EXPECT_TRUE(sync(this->said()).body.at("wanted").empty());
}

}  // namespace
}  // namespace dove::server
