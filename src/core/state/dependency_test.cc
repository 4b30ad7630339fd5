#include "core/state/dependency.h"

#include <gtest/gtest.h>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class DependencyTest : public testing::Test {
 protected:
  JobId after(DependencyKind kind, JobId other, Span delay = {}) {
    JobSpec spec = spec_of({});
    spec.dependencies = {{kind, other, delay}};
    return cluster.submit(spec);
  }
  DependencyLevel level(JobId id) {
    return check_dependencies(cluster.state, cluster.job(id)).level;
  }

  TestCluster cluster{1};
};

TEST_F(DependencyTest, AfterOkWaitsForAGoodEnd) {
  const JobId first = cluster.submit_and_start();
  const JobId second = after(DependencyKind::kAfterOk, first);
  EXPECT_EQ(level(second), DependencyLevel::kWaiting);
  cluster.end(first);
  EXPECT_EQ(level(second), DependencyLevel::kMet);
  EXPECT_EQ(eligible_at(cluster.state, cluster.job(second)), cluster.state.now);
}

TEST_F(DependencyTest, AfterOkOfAFailureIsNeverMetAndAfterNotOkIs) {
  const JobId first = cluster.submit_and_start();
  const JobId good = after(DependencyKind::kAfterOk, first);
  const JobId bad = after(DependencyKind::kAfterNotOk, first);
  cluster.end(first, Outcome::kFailed);
  EXPECT_EQ(level(good), DependencyLevel::kNever);
  EXPECT_EQ(level(bad), DependencyLevel::kMet);
  EXPECT_EQ(eligible_at(cluster.state, cluster.job(good)), std::nullopt);
}

TEST_F(DependencyTest, ADelayRunsFromTheBeginning) {
  const JobId first = cluster.submit_and_start();
  const JobId second = after(DependencyKind::kAfter, first, seconds(60));
  EXPECT_EQ(startable_at(cluster.state, cluster.job(second)), cluster.state.now + seconds(60));
  cluster.pass(seconds(60));
  EXPECT_EQ(level(second), DependencyLevel::kMet);
}

TEST_F(DependencyTest, OneOfSeveralIsEnoughWhereTheJobSaysSo) {
  const JobId never = cluster.submit_and_start();
  const JobId other = cluster.submit();
  cluster.end(never, Outcome::kFailed);
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kAfterOk, never, {}},
                       {DependencyKind::kAfterOk, other, {}}};
  const JobId all = cluster.submit(spec);
  spec.any_dependency = true;
  const JobId any = cluster.submit(spec);
  EXPECT_EQ(level(all), DependencyLevel::kNever);
  EXPECT_EQ(level(any), DependencyLevel::kWaiting);
}

TEST_F(DependencyTest, AnArrayOfWhichAnElementIsForgottenDidNotEndWell) {
  JobSpec spec = spec_of({});
  spec.array.indices = {0, 1};
  const JobId array = cluster.submit(spec);
  const JobId second(array.value + 1);
  for (const JobId id : {array, second}) {
    cluster.launch(id);
    cluster.start(id);
    cluster.end(id);
  }
  const JobId next = after(DependencyKind::kAfterOk, array);
  EXPECT_TRUE(knows_outcome(cluster.state, array));
  cluster.decided(ForgetJob{array});
  EXPECT_FALSE(knows_outcome(cluster.state, array));
  EXPECT_TRUE(knows_outcome(cluster.state, second)) << "named by itself";
  EXPECT_EQ(level(next), DependencyLevel::kMet) << "as older programs fold it";
  cluster.tell(LevelRaised{kNewestLevel});
  EXPECT_EQ(level(next), DependencyLevel::kNever);
}

TEST_F(DependencyTest, AnArrayIsDoneWhenAllElementsAre) {
  JobSpec spec = spec_of({});
  spec.array.indices = {0, 1};
  const JobId array = cluster.submit(spec);
  const JobId next = after(DependencyKind::kAfterOk, array);
  for (const JobId id : {array, JobId(array.value + 1)}) {
    EXPECT_EQ(level(next), DependencyLevel::kWaiting);
    cluster.launch(id);
    cluster.start(id);
    cluster.end(id);
  }
  EXPECT_EQ(level(next), DependencyLevel::kMet);
}

TEST_F(DependencyTest, AfterCorrWaitsForTheElementOfItsOwnIndex) {
  JobSpec spec = spec_of({});
  spec.array.indices = {2, 5, 9};
  const JobId array = cluster.submit(spec);
  spec.array.indices = {1, 5, 9};
  spec.dependencies = {{DependencyKind::kAfterCorr, array, {}}};
  const JobId one(cluster.submit(spec)), five(one.value + 1), nine(one.value + 2);
  const JobId element_five(array.value + 1);
  EXPECT_EQ(counterpart_of(cluster.state, cluster.job(one), array), JobId());
  EXPECT_EQ(counterpart_of(cluster.state, cluster.job(five), array), element_five);
  EXPECT_EQ(counterpart_of(cluster.state, cluster.job(nine), array), JobId(array.value + 2));
  EXPECT_EQ(level(one), DependencyLevel::kNever) << "there is no such element";
  EXPECT_EQ(level(five), DependencyLevel::kWaiting);
  cluster.launch(element_five);
  cluster.start(element_five);
  cluster.end(element_five);
  EXPECT_EQ(level(five), DependencyLevel::kMet);
  EXPECT_EQ(level(nine), DependencyLevel::kWaiting);
  // A job that is no array is waited for as a whole, by all of them.
  const JobId job = cluster.submit();
  EXPECT_EQ(counterpart_of(cluster.state, cluster.job(nine), job), job);
  // The first of the array is gone: the others keep their ids.
  cluster.state.jobs.erase(array);
  EXPECT_EQ(counterpart_of(cluster.state, cluster.job(nine), array), JobId(array.value + 2));
  EXPECT_EQ(counterpart_of(cluster.state, cluster.job(nine), JobId(1000)), JobId());
}

TEST_F(DependencyTest, ASingletonWaitsForTheEarlierOneWithOrWithoutAnIndex) {
  const JobId first = cluster.submit();
  JobSpec spec = spec_of({});
  spec.dependencies = {{DependencyKind::kSingleton, {}, {}}};
  const JobId second = cluster.submit(spec);
  Singletons index;
  index.jobs = {second};
  index.named[{"ann", "job"}] = {first, second};
  for (const Singletons* with : {static_cast<const Singletons*>(nullptr), &std::as_const(index)}) {
    const auto verdict = check_dependencies(cluster.state, cluster.job(second), with);
    EXPECT_EQ(verdict.level, DependencyLevel::kWaiting);
    EXPECT_EQ(verdict.other, first);
  }
}

}  // namespace
}  // namespace dove::core
