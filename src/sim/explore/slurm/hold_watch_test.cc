#include "sim/explore/slurm/hold_watch.h"

#include "sim/explore/slurm/slurm_fixture.h"

namespace dove::sim {
namespace {

// Job 1 runs on device 0 of the one node, which a Slurm schedules, too.
class HoldWatchTest : public SlurmFixture {
 protected:
  HoldWatchTest() {
    batch({node_with(0), NodeConnected{NodeId(1), "boot"}});
    JobSpec spec;
    spec.groups.emplace_back().per_task.cores = 1;
    batch({JobSubmitted{std::make_shared<const JobSpec>(spec)}});
    oracle_.task_started(0, TaskFacts{1, 1, 1, 0, {0}, {0}, 1000});
  }
  // With device 0.
  void hold(const std::string& name, std::int64_t limit_minutes = 0) {
    slurm::Ask ask;
    ask.name = name;
    ask.node = "n1";
    ask.gres = "gpu:g_0:1";
    ask.limit_minutes = limit_minutes;
    ASSERT_TRUE(slurm_.ask(ask).ok());
  }
  void cycles(int count, bool slurm_answers = true) {
    for (int i = 0; i < count; ++i) {
      watch_.begins();
      slurm::CycleEnd end;
      end.slurm_answers = slurm_answers;
      end.controller_answers = true;
      watch_.ends(end, slurm::Look::kAll);
      pass(60);
    }
  }

  HoldWatch watch_{agenda_, slurm_, oracle_};
};

TEST_F(HoldWatchTest, IsContentWithAPlaceholderOfWhatRuns) {
  hold("dove-1.1@dove");
  cycles(8);
  EXPECT_EQ(found(), "");
}

TEST_F(HoldWatchTest, SeesAPlaceholderThatIsLeftAfterItsAttempt) {
  hold("dove-2.1@dove");
  cycles(8, /*slurm_answers=*/false);
  EXPECT_EQ(found(), "") << "the adapter could not release it";
  cycles(1);
  EXPECT_EQ(found(), "") << "the ledger may have heard of the end just now";
  cycles(1);
  EXPECT_TRUE(found("dove-2.1@dove on n1 is there still")) << found();
}

TEST_F(HoldWatchTest, SeesWorkWhoseLostHoldIsNotAskedForAgain) {
  oracle_.hold_lost(1, 1);
  cycles(3);
  EXPECT_EQ(found(), "");
  cycles(1);
  EXPECT_TRUE(found("job 1 runs on n1 with devices that nobody holds")) << found();
}

TEST_F(HoldWatchTest, RequiresNoHoldThatSlurmHasNoRoomFor) {
  oracle_.hold_lost(1, 1);
  hold("dove-1.1@dove");
  cycles(8);
  EXPECT_EQ(found(), "");
}

TEST_F(HoldWatchTest, SeesAPlaceholderThatMeetsItsLimitJustAfterALook) {
  hold("dove-1.1@dove", /*limit_minutes=*/5);
  pass(250);
  cycles(2);
  EXPECT_TRUE(found("met its time limit, though its job 1 runs")) << found();
}

TEST_F(HoldWatchTest, ForgivesALimitThatIsMetWhileNobodyLooks) {
  cycles(1);
  hold("dove-1.1@dove", /*limit_minutes=*/5);
  pass(400);
  EXPECT_EQ(slurm_.held_for_us(), "");
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace dove::sim
