#include "core/explain/explain_executor.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// Two nodes; a Slurm that runs jobs of ours is on the first.
class ExplainExecutor : public testing::Test {
 protected:
  ExplainExecutor() {
    executor.name = "slurm";
    executor.nodes = {"n1"};
    executor.runs_jobs = true;
  }

  void declare() { cluster.declare(executor); }
  void answers() {
    declare();
    contact(ExecutorContact::kAnswering);
  }
  void contact(ExecutorContact contact) {
    cluster.tell(ExecutorContactChanged{"slurm", contact, ""});
  }
  // What keeps a job that the Slurm is to run; "": nothing that is known here.
  std::string why(JobSpec spec = spec_of({})) {
    spec.executor = "slurm";
    const auto reason = executor_reason(
        cluster.state, job_of(cluster.state, std::make_shared<const JobSpec>(std::move(spec))));
    if (!reason) return "";
    EXPECT_EQ(reason->kind, ReasonKind::kExecutor);
    EXPECT_EQ(reason->subject, "slurm");
    return reason->resource;
  }

  TestCluster cluster{2};
  Executor executor;
};

TEST_F(ExplainExecutor, NobodyDeclaredIt) { EXPECT_EQ(why(), "undeclared"); }

TEST_F(ExplainExecutor, ContactComesBeforeWhatItSaidOfItsNodes) {
  executor.nodes = {"elsewhere"};
  declare();
  EXPECT_EQ(why(), "silent");
  contact(ExecutorContact::kMute);
  EXPECT_EQ(why(), "mute");
  contact(ExecutorContact::kAnswering);
  EXPECT_EQ(why(), "nodes");
}

TEST_F(ExplainExecutor, OneThatTakesJobsIsNoReason) {
  answers();
  EXPECT_EQ(why(), "");
}

TEST_F(ExplainExecutor, ItsNodesAreLentNothingOrDown) {
  executor.lendable = {{{"n2"}, {}, -1, -1}};
  answers();
  EXPECT_EQ(why(), "lent");
  executor.lendable.clear();
  declare();
  cluster.tell(ExecutorNodeObserved{"slurm", NodeId(1), ExecutorNodeState::kDown, "gone"});
  EXPECT_EQ(why(), "down");
}

// The executor could do nothing about it: other reasons name the choice.
TEST_F(ExplainExecutor, TheJobsOwnChoiceIsNotItsFault) {
  answers();
  JobSpec spec = spec_of({});
  spec.nodes_wanted = {"n2"};
  EXPECT_EQ(why(spec), "");
}

TEST_F(ExplainExecutor, JobsOfOurAgentsNeedANodeWithOne) {
  answers();
  const auto ours = [&] { return executor_reason(cluster.state, cluster.job(JobId(1))); };
  cluster.submit();
  EXPECT_FALSE(ours().has_value());
  for (Node& node : cluster.state.nodes) node.backend = "slurm";
  ASSERT_TRUE(ours().has_value());
  EXPECT_EQ(ours()->resource, "agents");
  EXPECT_EQ(ours()->subject, "slurm");
  EXPECT_EQ(ours()->total, 2);
}

}  // namespace
}  // namespace dove::core
