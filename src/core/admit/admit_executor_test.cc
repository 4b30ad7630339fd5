#include "core/admit/admit_executor.h"

#include <gtest/gtest.h>

#include "core/admit/admit.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class AdmitExecutor : public testing::Test {
 protected:
  AdmitExecutor() {
    slurm.name = "slurm";
    slurm.nodes = {"n1"};
    slurm.runs_jobs = true;
    cluster.declare(slurm);
  }
  static JobSpec job() {
    JobSpec spec = spec_of({.gpus = 1});
    spec.executor = "slurm";
    return spec;
  }
  std::string refused(const JobSpec& spec) const {
    const auto admitted = admit(cluster.state, spec);
    return admitted.ok() ? "" : admitted.error().code;
  }

  Executor slurm;
  TestCluster cluster{1, {.cores = 8, .gpus = 2}};
};

TEST_F(AdmitExecutor, OneThatRunsJobsTakesThem) {
  EXPECT_EQ(refused(job()), "");
  JobSpec unknown = job();
  unknown.executor = "slrum";
  const auto admitted = admit(cluster.state, unknown);
  ASSERT_FALSE(admitted.ok());
  EXPECT_EQ(admitted.error().code, "executor_unknown");
  EXPECT_NE(admitted.error().message.find("perhaps you mean slurm"), std::string::npos);
  slurm.runs_jobs = false;
  cluster.declare(slurm);
  EXPECT_EQ(refused(job()), "executor_runs_no_jobs");
}

TEST_F(AdmitExecutor, AForeignJobNeedsAGate) {
  JobSpec spec = job();
  spec.foreign_job = "77";
  EXPECT_EQ(refused(spec), "executor_no_gate");
  slurm.gate = true;
  cluster.declare(slurm);
  EXPECT_EQ(refused(spec), "");
  spec.executor = "";
  EXPECT_EQ(refused(spec), "foreign_job_of_nobody");
}

TEST_F(AdmitExecutor, OneThatOursYieldToTakesForeignJobsWithoutAGate) {
  JobSpec spec = job();
  spec.foreign_job = "77";
  slurm.yields_to = {"inference"};
  cluster.declare(slurm);
  EXPECT_EQ(refused(spec), "");
  const Policies policies = plain_policies();
  const auto code = [&](const Executor& declared) {
    const auto admitted = admit(cluster.state, policies, ObjectApplied{declared});
    return admitted.ok() ? "" : admitted.error().code;
  };
  Executor other = slurm;
  other.gate = true;
  EXPECT_EQ(code(other), "executor_yields_at_gate");
  other.gate = other.placeholders = false;
  EXPECT_EQ(code(other), "executor_yields_nothing");
  cluster.submit(spec);
  other.placeholders = true;
  other.yields_to.clear();
  EXPECT_EQ(code(other), "") << "what it was to make room for runs there all the same";
}

TEST_F(AdmitExecutor, WhatItCannotGiveIsRefused) {
  JobSpec share = job();
  share.groups[0].per_task.gpus = 0;
  share.groups[0].per_task.share_milli = 500;
  EXPECT_EQ(refused(share), "executor_no_shares");
  JobSpec script = job();
  script.launch = LaunchMode::kBatch;
  script.groups[0].tasks = 2;
  EXPECT_EQ(refused(script), "") << "on as many nodes as it takes";
  script.groups.push_back(script.groups[0]);
  EXPECT_EQ(refused(script), "executor_script_groups");
}

TEST_F(AdmitExecutor, AUserWithoutALinuxUserIsToldTheWayOut) {
  UserDeclaration robot;
  robot.name = "ann";
  robot.service_of = "team";
  cluster.declare(robot);
  const auto admitted = admit(cluster.state, job());
  ASSERT_FALSE(admitted.ok());
  EXPECT_EQ(admitted.error().code, "no_linux_user");
  EXPECT_NE(admitted.error().message.find("`linux_user` of User ann"), std::string::npos);
  robot.linux_user = "ann17";
  cluster.declare(robot);
  EXPECT_EQ(refused(job()), "");
}

TEST_F(AdmitExecutor, OneWithJobsStaysAsItIs) {
  cluster.submit(job());
  const Policies policies = plain_policies();
  const auto may = [&](const Event& event) { return admit(cluster.state, policies, event).ok(); };
  EXPECT_FALSE(may(ObjectDeleted{"executor", "slurm"}));
  Executor closed = slurm;
  closed.runs_jobs = false;
  EXPECT_FALSE(may(ObjectApplied{closed}));
  closed.runs_jobs = true;
  closed.nodes = {"n[1-9]"};
  EXPECT_TRUE(may(ObjectApplied{closed}));
}

TEST_F(AdmitExecutor, ItsReservationsAreNobodyElses) {
  Reservation course;
  course.name = "slurm:course";
  course.nodes = {"n1"};
  cluster.declare(course);
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kAnswering, ""});
  const Policies policies = plain_policies();
  const auto may = [&](const Event& event) { return admit(cluster.state, policies, event).ok(); };
  EXPECT_FALSE(may(ObjectDeleted{"reservation", "slurm:course"}));
  EXPECT_TRUE(may(ObjectApplied{course})) << "it stays as it is";
  course.labels = {{"team", "vision"}};
  EXPECT_TRUE(may(ObjectApplied{course})) << "labels are ours";
  course.nodes = {"n2"};
  EXPECT_FALSE(may(ObjectApplied{course}));
  course.name = "other:course";
  EXPECT_TRUE(may(ObjectApplied{course})) << "there is no executor of that name";
  JobSpec spec = spec_of({});
  spec.reservation = "slurm:course";
  EXPECT_EQ(refused(spec), "reservation_of_executor");
  cluster.tell(ExecutorContactChanged{"slurm", ExecutorContact::kSilent, ""});
  EXPECT_TRUE(may(ObjectDeleted{"reservation", "slurm:course"})) << "nobody else could end it";
  EXPECT_FALSE(may(ObjectApplied{Executor{"slurm:b", "", {"n2"}, true, {}}}));
}

TEST_F(AdmitExecutor, ANodeWithItsWorkIsNotRemoved) {
  const JobId id = cluster.submit(job());
  cluster.launch(id);
  cluster.tell(NodeDisconnected{NodeId(1), true});
  const Policies policies = plain_policies();
  EXPECT_FALSE(admit(cluster.state, policies, Event(NodeRemoved{NodeId(1)})).ok());
}

}  // namespace
}  // namespace dove::core
