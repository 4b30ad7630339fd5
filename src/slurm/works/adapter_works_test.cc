#include <gtest/gtest.h>

#include "slurm/adapter_fixture.h"

namespace dove::slurm {
namespace {

// Sruns that begin and run on.
class FakeSteps : public Steps {
 public:
  Result<std::vector<StepSeen>> all() override { return begun; }
  Result<void> begin(const StepWanted& step) override {
    StepSeen seen;
    seen.key = step.work.key;
    seen.slurm_job = step.slurm_job;
    begun.push_back(seen);
    return {};
  }
  Result<void> signal(const StepSeen& step, int, int, std::int64_t) override {
    signalled.push_back(step.slurm_job);
    return {};
  }
  Result<void> warn(const StepSeen&, const Warning&) override { return {}; }
  Result<void> give_up(const PlaceholderKey& key) override {
    given_up.push_back(key);
    return {};
  }
  void forget(const PlaceholderKey&) override {}

  std::vector<StepSeen> begun;
  std::vector<std::int64_t> signalled;  // their Slurm jobs
  std::vector<PlaceholderKey> given_up;
};

class AdapterWorksTest : public AdapterFixture {
 protected:
  AdapterWorksTest() {
    steps_ = &steps;
    restart();
    want({2});
    answer_.wanted[0].runs = true;
    WantedWork work;
    work.key = answer_.wanted[0].key;
    work.ranks = {0};
    work.user = "ada";
    work.program.emplace().command = {"true"};
    answer_.works = {work};
  }
  void cycles(int count) {
    for (int i = 0; i < count; ++i) adapter_->cycle();
  }

  FakeSteps steps;
};

TEST_F(AdapterWorksTest, WorkBeginsInItsPlaceholder) {
  cycles(4);
  ASSERT_EQ(steps.begun.size(), 1u);
  EXPECT_EQ(steps.begun[0].slurm_job, slurm_.last_id);
  cycles(2);
  EXPECT_EQ(steps.begun.size(), 1u);
}

TEST_F(AdapterWorksTest, AUsersJobIsNotStoppedForOneThatHadItsNumberBeforeSlurmWasSetUpAnew) {
  cycles(4);
  ASSERT_EQ(steps.begun.size(), 1u);
  slurm_.state.jobs.clear();
  slurm_.last_id = steps.begun[0].slurm_job - 1;
  const std::int64_t theirs = slurm_.add("train", {2}).id;
  ASSERT_EQ(theirs, steps.begun[0].slurm_job);
  answer_.works[0].stop = true;
  ++answer_.version;
  cycles(3);
  EXPECT_TRUE(steps.signalled.empty());
  EXPECT_FALSE(steps.given_up.empty());
  ASSERT_EQ(slurm_.state.jobs.size(), 1u);
  EXPECT_EQ(slurm_.state.jobs[0].id, theirs) << "it runs on";
}

TEST_F(AdapterWorksTest, NoneBeginsOnANodeThatSlurmctldHasNotHeardOfSinceItsStart) {
  cycles(1);
  ASSERT_EQ(slurm_.asked, 1);
  ASSERT_TRUE(steps.begun.empty());
  slurm_.state.nodes.front().registered = false;
  cycles(3);
  EXPECT_TRUE(steps.begun.empty()) << "its srun would wait for minutes";
  slurm_.state.nodes.front().registered = true;
  cycles(1);
  EXPECT_EQ(steps.begun.size(), 1u);
}

// Work that runs there would be without its placeholder all that time.
TEST_F(AdapterWorksTest, ARefusedPlaceholderIsAskedForAgainAlsoWhenTheClockIsSetBack) {
  slurm_.refusal = {ErrorKind::kConflict, "no_room", "busy", ""};
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 1);
  slurm_.refusal = {};
  now_us_ -= 3'600'000'000;
  adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 1);
  now_us_ += kAskAgain_s * 1'000'000;
  for (int i = 0; i < 2; ++i) adapter_->cycle();
  EXPECT_EQ(slurm_.asked, 2);
}

}  // namespace
}  // namespace dove::slurm
