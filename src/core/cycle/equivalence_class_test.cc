#include "core/cycle/equivalence_class.h"

#include <gtest/gtest.h>

#include "core/cycle/indexes.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class EquivalenceClassTest : public testing::Test {
 protected:
  EquivalenceClassTest() { prepare(cluster.state, indexes, plain_policies(), {}); }
  std::uint64_t queued(JobId id) {
    sync(cluster.state, indexes);
    IndexedJob& entry = indexes.jobs.find(id)->second;
    enqueue(cluster.state, indexes, cluster.job(id), entry);
    return entry.equivalence_class;
  }

  TestCluster cluster{1, {.gpus = 2}};
  Indexes indexes;
};

TEST_F(EquivalenceClassTest, EqualJobsShareOne) {
  const std::uint64_t first = queued(cluster.submit({.gpus = 1}));
  EXPECT_EQ(queued(cluster.submit({.gpus = 1})), first);
  EXPECT_NE(queued(cluster.submit({.gpus = 2})), first);
  EXPECT_NE(queued(cluster.submit({.gpus = 1, .user = "bob"})), first);
  EXPECT_NE(queued(cluster.submit({.gpus = 1, .priority = 1})), first);
}

TEST_F(EquivalenceClassTest, AVerdictClosesItUntilSomethingCouldHelp) {
  const JobId running = cluster.submit_and_start({.gpus = 2});
  const std::uint64_t id = queued(cluster.submit({.gpus = 1}));
  set_verdict(indexes, id, Verdict::kNoPlace);
  EXPECT_FALSE(indexes.tree.any_open());
  EXPECT_TRUE(indexes.no_place.contains(id));
  cluster.end(running);
  sync(cluster.state, indexes);
  EXPECT_TRUE(indexes.tree.any_open());
  EXPECT_TRUE(indexes.no_place.empty());
}

TEST_F(EquivalenceClassTest, TooMuchIsWhatThePoolAltogetherDoesNotHave) {
  const std::uint64_t id = queued(cluster.submit({.gpus = 2}));
  EXPECT_FALSE(is_too_much(indexes.classes.at(id)));
  cluster.submit_and_start({.gpus = 1});
  sync(cluster.state, indexes);
  EXPECT_TRUE(is_too_much(indexes.classes.at(id)));
}

TEST_F(EquivalenceClassTest, AFullArrayWaitsForOneOfItsElements) {
  JobSpec spec = spec_of({});
  spec.array.indices = {0, 1};
  spec.array.running_max = 1;
  const JobId first = cluster.submit(spec);
  const std::uint64_t id = queued(JobId(first.value + 1));
  EXPECT_FALSE(array_is_full(indexes, indexes.classes.at(id)));
  cluster.launch(first);
  sync(cluster.state, indexes);
  EXPECT_TRUE(array_is_full(indexes, indexes.classes.at(id)));
}

}  // namespace
}  // namespace dove::core
