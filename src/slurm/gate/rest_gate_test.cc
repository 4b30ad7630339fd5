#include "slurm/gate/rest_gate.h"

#include <gtest/gtest.h>

#include "slurm/rest/answers_for_test.h"

namespace dove::slurm {
namespace {

using Lines = std::vector<std::string>;

class RestGateTest : public testing::Test {
 protected:
  Lines ran;
  Lines called;
  CommandGate commands{[this](const CommandWanted& wanted) -> Result<CommandEnd> {
    ran.push_back(wanted.words[0] + " " + (wanted.words.size() > 1 ? wanted.words[1] : ""));
    return CommandEnd{};
  }};
  RestApi api{[this](const RestRequest& request) -> Result<RestAnswer> {
    if (request.target == "/openapi/v3") return RestAnswer{200, specification({"v0.0.38"})};
    called.push_back(request.method + " " + request.target + " " + request.body);
    return RestAnswer{200, R"({"errors": []})"};
  }};
  RestGate gate{commands, api};
};

TEST_F(RestGateTest, WhatSlurmrestdCanDoStartsNoCommand) {
  ASSERT_TRUE(gate.let_go("17").ok());
  ASSERT_TRUE(gate.say("17", "dovetail: \"soon\"").ok());
  ASSERT_TRUE(gate.put_back("17", {.slurm_job = 17}).ok());
  EXPECT_TRUE(ran.empty());
  EXPECT_EQ(called, (Lines{R"(POST /slurm/v0.0.38/job/17 {"hold":"false"})",
                           R"(POST /slurm/v0.0.38/job/17 {"priority":"4294967000"})",
                           R"(POST /slurm/v0.0.38/job/17 {"comment":"dovetail: \"soon\""})",
                           "DELETE /slurm/v0.0.38/job/17 "}));
}

TEST_F(RestGateTest, TheRestAndTasksOfArraysAreTheCommands) {
  ASSERT_TRUE(gate.place("17", {}).ok());
  ASSERT_TRUE(gate.mark("17", "dovetail-gate").ok());
  ASSERT_TRUE(gate.put_back("17", {.slurm_job = 17, .waits = true}).ok());
  ASSERT_TRUE(gate.put_back("17", {.slurm_job = 17, .may_requeue = true}).ok());
  ASSERT_TRUE(gate.say("17_3", "dovetail: soon").ok());
  ASSERT_TRUE(gate.let_go("17_3").ok());
  ASSERT_TRUE(gate.put_back("17_3", {.slurm_job = 20}).ok());
  EXPECT_TRUE(called.empty());
  EXPECT_EQ(ran, (Lines{"scontrol update", "scontrol update", "scontrol update",
                        "scontrol requeuehold", "scontrol update", "scontrol ", "scancel 17_3"}));
}

}  // namespace
}  // namespace dove::slurm
