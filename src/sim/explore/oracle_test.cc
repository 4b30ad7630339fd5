#include "sim/explore/oracle.h"

#include <gtest/gtest.h>

#include "core/state/hash.h"
#include "sim/explore/oracle_fixture.h"

namespace dove::sim {
namespace {

// A log of one node and one job, told to an oracle batch by batch.
class OracleTest : public OracleFixture {
 protected:
  OracleTest() { batch({node_with(2), NodeConnected{NodeId(1), "boot"}}); }
  void submit(const std::string& key, int retries = 0, std::int64_t limit_s = 0) {
    JobSpec spec;
    spec.time_limit = seconds(limit_s);
    spec.groups.emplace_back().per_task.cores = 1;
    spec.retries_max = retries;
    batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}}, key);
  }
  static TaskFacts task(std::uint64_t job, std::uint32_t attempt, std::int32_t core) {
    return TaskFacts{1, job, attempt, 0, {core}, {}, 1000};
  }
};

TEST_F(OracleTest, IsContentWithAnOrdinaryLife) {
  submit("a");
  oracle_.acknowledged("a", 1);
  oracle_.task_started(0, task(1, 1, 0));
  oracle_.task_over(task(1, 1, 0), TaskExit{});
  batch({PlacementEnded{JobId(1), 1, NodeId(1), {TaskExit{}}, 0, 0}});
  EXPECT_EQ(found(), "");
  EXPECT_EQ(oracle_.ended(Outcome::kCompleted), 1u);
}

TEST_F(OracleTest, SeesATaskThatNobodyLaunched) {
  oracle_.task_started(0, task(5, 1, 0));
  EXPECT_TRUE(found("without a durable launch")) << found();
}

TEST_F(OracleTest, SeesTwoAttemptsAtOnce) {
  submit("a");
  oracle_.task_started(0, task(1, 1, 0));
  batch({PlacementEnded{JobId(1), 1, NodeId(1), {TaskExit{0, 0, 9, "shim_lost"}}, 0, 0}});
  EXPECT_TRUE(found("tasks still run")) << found();
}

TEST_F(OracleTest, SeesACoreInUseTwice) {
  submit("a");
  submit("b");
  oracle_.task_started(0, task(1, 1, 0));
  oracle_.task_started(0, task(2, 1, 0));
  EXPECT_TRUE(found("starts on core 0, which a task of job 1 still uses")) << found();
}

TEST_F(OracleTest, SeesACoreThatAForeignJobIsGivenToo) {
  submit("a");
  oracle_.task_started(0, task(1, 1, 0));
  TaskFacts theirs = task(0, 0, 0);
  theirs.foreign = 17;
  oracle_.foreign_started(theirs);
  EXPECT_TRUE(found("foreign job 17")) << found();
}

TEST_F(OracleTest, ForgivesWhatIsGivenAwayOnceSomebodyHasEndedItsHold) {
  submit("a");
  oracle_.task_started(0, task(1, 1, 0));
  oracle_.hold_lost(1, 1);
  TaskFacts theirs = task(0, 0, 0);
  theirs.foreign = 17;
  oracle_.foreign_started(theirs);
  EXPECT_EQ(found(), "");
}

TEST_F(OracleTest, SeesADeviceThatIsGivenThoughTheLedgerWasTold) {
  JobSpec spec;
  spec.groups.emplace_back().per_task.gpus = 1;
  TaskFacts theirs = task(0, 0, 3);
  theirs.devices = {0, 1};
  theirs.foreign = 17;
  oracle_.foreign_started(theirs);
  batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
  EXPECT_EQ(found(), "") << "it was told nothing yet";
  oracle_.told_of_foreign(agenda_.now_us());
  batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
  EXPECT_TRUE(found("which foreign job 17 has, as the ledger was told")) << found();
}

TEST_F(OracleTest, SeesMemoryThatIsGivenTwice) {
  oracle_.set_memory(std::int64_t{3} << 20);
  TaskFacts theirs = task(0, 0, 0);
  theirs.memory_bytes = std::int64_t{2} << 20;
  theirs.foreign = 17;
  oracle_.foreign_started(theirs);
  EXPECT_EQ(found(), "");
  theirs.foreign = 18;
  oracle_.foreign_started(theirs);
  EXPECT_TRUE(found("memory of node 1")) << found();
}

TEST_F(OracleTest, SeesATaskStartTwice) {
  submit("a");
  oracle_.task_started(0, task(1, 1, 0));
  oracle_.task_started(0, task(1, 1, 1));
  EXPECT_TRUE(found("a second time")) << found();
}

TEST_F(OracleTest, SeesAnOutcomeThatIsNotWhatTheTasksDid) {
  submit("a");
  oracle_.task_started(0, task(1, 1, 0));
  oracle_.task_over(task(1, 1, 0), TaskExit{0, 3, 0, ""});
  batch({PlacementEnded{JobId(1), 1, NodeId(1), {TaskExit{}}, 0, 0}});
  EXPECT_TRUE(found("not all of its tasks ended well")) << found();
}

TEST_F(OracleTest, SeesASubmissionThatHappensTwice) {
  submit("a");
  submit("a");
  EXPECT_TRUE(found("the submission a became job 1 and again job 2")) << found();
}

TEST_F(OracleTest, SeesAPromiseThatWasNotDurable) {
  oracle_.acknowledged("never", 1);
  EXPECT_TRUE(found("before it was durable")) << found();
}

TEST_F(OracleTest, SeesAnAcknowledgedJobThatARestartLost) {
  submit("a");
  oracle_.acknowledged("a", 1);
  const core::State empty;
  oracle_.recovered(empty, core::state_hash(empty));
  EXPECT_TRUE(found("lost after a restart")) << found();
}

TEST_F(OracleTest, SeesATimeLimitThatIsMetTooEarly) {
  submit("a", /*retries=*/0, /*limit_s=*/600);
  batch({PlacementPrepared{JobId(1), 1, NodeId(1)}});
  oracle_.task_started(1, task(1, 1, 0));
  batch({PlacementStarted{JobId(1), 1, NodeId(1)}});
  now_ += 700'000'000;  // by a clock that somebody has set
  batch({TimeReached{}});
  EXPECT_TRUE(found("is stopped by its time limit of 600 s after 0 s")) << found();
}

TEST_F(OracleTest, SeesAFailureBeforeAllRetries) {
  submit("a", /*retries=*/0);
  oracle_.task_started(0, task(1, 1, 0));
  oracle_.task_over(task(1, 1, 0), TaskExit{0, 0, 9, ""});  // killed by nobody's own doing
  batch({PlacementEnded{JobId(1), 1, NodeId(1), {TaskExit{0, 1, 0, ""}}, 0, 0}});
  EXPECT_TRUE(found("failed after 0 failures of its own")) << found();
}

}  // namespace
}  // namespace dove::sim
