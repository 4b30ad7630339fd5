#include "slurm/rest/rest_cluster.h"

#include <gtest/gtest.h>

#include "slurm/command_cluster.h"
#include "slurm/recorded_for_test.h"
#include "slurm/rest/answers_for_test.h"

namespace dove::slurm {
namespace {

class RestClusterTest : public testing::Test {
 protected:
  Result<RestAnswer> answer(const RestRequest& request) {
    const std::string& target = request.target;
    const bool reads = request.method == "GET";
    if (target == "/openapi/v3") return RestAnswer{200, specification(versions)};
    asked.push_back(reads ? target : request.method + " " + target + request.body);
    if (!trouble.body.empty()) return trouble;
    if (!reads) return RestAnswer{200, R"({"errors": []})"};
    if (target.ends_with("reservations")) return RestAnswer{200, kRecordedReservations};
    return RestAnswer{200, target.ends_with("nodes") ? kRecordedNodes : kRecordedJobs};
  }

  std::vector<std::string> versions{"v0.0.38"};
  std::vector<std::string> ran;
  std::vector<std::string> asked;
  RestAnswer trouble;
  CommandCluster commands{[this](const CommandWanted& wanted) {
    ran.push_back(wanted.words[0]);
    return Result<CommandEnd>(CommandEnd{});
  }};
  RestApi api{[this](const RestRequest& request) { return answer(request); }};
  RestCluster rest{commands, api, false};
  RestCluster changing{commands, api, true};
};

TEST_F(RestClusterTest, ALookStartsNoCommand) {
  const auto seen = rest.observe();
  ASSERT_TRUE(seen.ok()) << seen.error().message;
  EXPECT_EQ(seen->nodes.size(), 2u);
  EXPECT_EQ(seen->jobs.size(), 6u);
  EXPECT_TRUE(ran.empty());
  ASSERT_EQ(seen->reservations.size(), 1u) << "the other one is of some cores";
  EXPECT_EQ(seen->reservations[0].name, "course");
  EXPECT_EQ(seen->reservations[0].nodes, "n1");
  EXPECT_EQ(seen->reservations[0].starts_s, 1'795'880'011);
  EXPECT_EQ(asked, (std::vector<std::string>{"/slurm/v0.0.38/nodes", "/slurm/v0.0.38/reservations",
                                             "/slurm/v0.0.38/jobs"}));
}

TEST_F(RestClusterTest, ChangesAreTheCommands) {
  EXPECT_TRUE(rest.release(7).ok());
  EXPECT_TRUE(rest.mark("7", "dovetail").ok());
  EXPECT_TRUE(rest.set_limit(7, 5).ok());
  EXPECT_TRUE(rest.set_drain("n1", "hot").ok());
  EXPECT_EQ(ran, (std::vector<std::string>{"scancel", "scontrol", "scontrol", "scontrol"}));
  EXPECT_TRUE(asked.empty());
}

TEST_F(RestClusterTest, ThoseThatItCanMakeAreItsOwnWhereItMayMakeThem) {
  EXPECT_TRUE(changing.release(7).ok());
  EXPECT_TRUE(changing.set_limit(7, 5).ok());
  EXPECT_TRUE(changing.set_limit(7, 0).ok());
  EXPECT_EQ(asked,
            (std::vector<std::string>{"DELETE /slurm/v0.0.38/job/7",
                                      R"(POST /slurm/v0.0.38/job/7{"time_limit":"5"})",
                                      R"(POST /slurm/v0.0.38/job/7{"time_limit":"UNLIMITED"})"}));
  EXPECT_TRUE(ran.empty());
  EXPECT_TRUE(changing.mark("7", "dovetail").ok());
  EXPECT_TRUE(changing.suspend(7).ok());
  EXPECT_TRUE(changing.set_drain("n1", "hot").ok());
  EXPECT_EQ(ran, (std::vector<std::string>{"scontrol", "scontrol", "scontrol"}));
  ran.clear();
  EXPECT_EQ(*changing.warn("7"), 0);
  EXPECT_TRUE(changing.requeue("7", "").ok());
  EXPECT_EQ(ran, (std::vector<std::string>{"sacct", "scontrol", "scontrol"}));
}

TEST_F(RestClusterTest, AChangeThatSlurmRefusesIsAnErrorWhateverTheStatus) {
  trouble = {500, R"({"errors": [{"error": "Invalid job id specified", "error_number": 2017}]})"};
  EXPECT_TRUE(changing.release(7).ok()) << "it has ended";
  EXPECT_FALSE(changing.set_limit(7, 5).ok());
  trouble = {200, R"({"errors": [{"error": "Access\/permission denied"}]})"};
  EXPECT_NE(changing.set_limit(7, 5).error().message.find("root or SlurmUser"), std::string::npos);
  trouble = {200, R"({"errors": [{"description": "job array update failed"}]})"};
  EXPECT_NE(changing.release(7).error().message.find("array"), std::string::npos);
  trouble = {502, "Bad Gateway"};
  EXPECT_FALSE(changing.release(7).ok());
}

TEST_F(RestClusterTest, AnythingButAnAnswerIsNoEmptyCluster) {
  trouble = {401, "Authentication failure"};
  EXPECT_NE(rest.observe().error().message.find("scontrol token"), std::string::npos);
  trouble = {404, "Unable find requested URL"};
  EXPECT_NE(rest.observe().error().message.find("-s openapi/v0.0.38"), std::string::npos);
  trouble = {500, R"({"errors": [{"error": "Unable to contact slurm controller"}]})"};
  EXPECT_NE(rest.observe().error().message.find("Unable to contact"), std::string::npos);
  trouble = {200, R"({"errors": [{"error": "no nodes"}], "nodes": []})"};
  EXPECT_FALSE(rest.observe().ok());
}

// As Slurm 25.05 answers, by its source.
TEST_F(RestClusterTest, TheNewestVersionThatBothKnowIsSpoken) {
  versions = {"v0.0.40", "v0.0.43", "v0.0.99"};
  EXPECT_TRUE(changing.set_limit(7, 5).ok());
  EXPECT_TRUE(changing.set_limit(7, 0).ok());
  EXPECT_TRUE(api.release(7, 9).ok());
  EXPECT_EQ(
      asked,
      (std::vector<std::string>{
          R"(POST /slurm/v0.0.43/job/7{"time_limit":{"infinite":false,"number":5,"set":true}})",
          R"(POST /slurm/v0.0.43/job/7{"time_limit":{"infinite":true,"number":0,"set":true}})",
          R"(POST /slurm/v0.0.43/job/7{"hold":false})",
          R"(POST /slurm/v0.0.43/job/7{"priority":{"infinite":false,"number":9,"set":true}})"}));
}

TEST_F(RestClusterTest, ASlurmrestdThatIsReplacedIsAskedAnew) {
  ASSERT_TRUE(rest.observe().ok());
  versions = {"v0.0.39"};
  trouble = {404, "Unable find requested URL"};
  EXPECT_FALSE(rest.observe().ok()) << "the version that it spoke has gone";
  trouble = {};
  asked.clear();
  EXPECT_TRUE(rest.observe().ok());
  EXPECT_EQ(asked.front(), "/slurm/v0.0.39/nodes");
}

TEST_F(RestClusterTest, WithoutACommonVersionTheErrorNamesThoseThatThereAre) {
  versions = {"v0.0.37", "v0.0.99"};
  const std::string message = rest.observe().error().message;
  for (const char* named : {"v0.0.37", "v0.0.99", "v0.0.43 (-d v0.0.43)", "leave out rest:"}) {
    EXPECT_NE(message.find(named), std::string::npos) << named << ": " << message;
  }
  EXPECT_TRUE(asked.empty());
}

TEST_F(RestClusterTest, NewerVersionsSayInListsWhatWentWrong) {
  versions = {"v0.0.42"};
  trouble = {200, R"({"errors": [], "results": [{"job_id": 7, "error": "Access denied",
      "error_code": 2002}]})"};
  EXPECT_NE(changing.set_limit(7, 5).error().message.find("Access denied"), std::string::npos);
  trouble = {200, R"({"errors": [], "results": [{"job_id": 7, "error": "No error",
      "error_code": 0}]})"};
  EXPECT_TRUE(changing.set_limit(7, 5).ok());
  const auto cancelled = [&](const char* word, const char* code) {
    trouble = {200, std::string(R"({"errors": [], "status": [{"error": {"string": ")") + word +
                        R"(", "code": )" + code + "}}]}"};
    return changing.release(7).ok();
  };
  EXPECT_TRUE(cancelled("No error", "0"));
  EXPECT_TRUE(cancelled("Invalid job id specified", "2017"));
  EXPECT_TRUE(cancelled("Job/step already completing or completed", "2021"));
  EXPECT_FALSE(cancelled("Access/permission denied", "2002"));
  trouble = {404, R"({"errors": [{"error": "Invalid job id specified", "error_number": 2017}]})"};
  EXPECT_TRUE(changing.release(7).ok()) << "that is no missing path";
}

TEST(RestPlace, IsASocketOrAUrl) {
  EXPECT_EQ(read_rest_place("unix:/run/slurmrestd.sock")->socket, "/run/slurmrestd.sock");
  EXPECT_EQ(read_rest_place("http://head:6820")->url, "http://head:6820");
  EXPECT_EQ(read_rest_place("https://head")->socket, "");
  for (const char* wrong : {"", "unix:", "unix:run/a", "head:6820", "http://", "ftp://head"}) {
    EXPECT_EQ(read_rest_place(wrong).error().kind, ErrorKind::kInvalid) << wrong;
  }
}

}  // namespace
}  // namespace dove::slurm
