#include "core/cycle/kept_nodes.h"

#include <gtest/gtest.h>

#include "core/cycle/cycle.h"
#include "core/cycle/decide_fixture.h"

namespace dove::core {
namespace {

constexpr Span kTwoDays = kWaits_too_long;

class Learns final : public OrderPolicy {
 public:
  std::string_view name() const override { return "learned/1"; }
  std::int64_t rank(const State&, const Job& job) const override { return job.priority; }
  Head head() const override { return Head::kTakesOver; }
};

const Policies& policies_that_learn() {
  static const Learns learns;
  static const FirstFit first_fit;
  static const Policies policies{&learns, &first_fit, {&learns}, {}};
  return policies;
}

// Four nodes of two GPUs, a job of one on each; those on the later nodes started later.
struct Full : TestCluster {
  Full() : TestCluster(4, {.gpus = 2}) {
    ClusterSettings settings;
    settings.order = "learned";
    declare(settings);
    for (std::uint32_t node = 1; node <= 4; ++node) {
      pass(seconds(60));
      running.push_back(submit_and_start({.gpus = 1}, {node}));
      fillers.push_back(submit_and_start({.gpus = 1}, {node}));
    }
  }
  KeptNodes kept() const { return kept_nodes(state, policies_that_learn()); }
  std::vector<JobId> launches() {
    std::vector<JobId> jobs;
    for (const Decision& each : decide(state, policies_that_learn())) {
      if (const auto* launch = std::get_if<Launch>(&each)) jobs.push_back(launch->job);
    }
    return jobs;
  }
  std::vector<JobId> running;
  std::vector<JobId> fillers;
};

TEST(KeptNodes, TheNodeWhoseOldestJobStartedLastAfterTwoDays) {
  Full cluster;
  const JobId wide = cluster.submit({.gpus = 2});
  cluster.pass(Span{kTwoDays.us - 1});
  EXPECT_TRUE(cluster.kept().empty());
  cluster.pass(Span{1});
  EXPECT_EQ(cluster.kept(), (KeptNodes{{wide, {NodeId(4)}}}));
}

TEST(KeptNodes, NothingElseStartsThereAndItDoes) {
  Full cluster;
  const JobId wide = cluster.submit({.gpus = 2});
  cluster.pass(kTwoDays);
  cluster.end(cluster.running[3]);
  const JobId small = cluster.submit({.gpus = 1});
  EXPECT_TRUE(cluster.launches().empty());
  cluster.end(cluster.running[0]);  // on a node that is not kept
  EXPECT_EQ(cluster.launches(), std::vector<JobId>{small});
  cluster.end(cluster.fillers[3]);
  EXPECT_EQ(cluster.launches(), std::vector<JobId>{wide});
  EXPECT_TRUE(cluster.kept().empty());
}

TEST(KeptNodes, AHigherPriorityStartsThere) {
  Full cluster;
  cluster.submit({.gpus = 2});
  cluster.pass(kTwoDays);
  cluster.end(cluster.running[3]);
  const JobId urgent = cluster.submit({.gpus = 1, .priority = 1});
  EXPECT_EQ(cluster.launches(), std::vector<JobId>{urgent});
}

TEST(KeptNodes, AtMostAQuarterOfThePool) {
  Full cluster;
  cluster.submit({.gpus = 2, .tasks = 2});
  cluster.pass(kTwoDays);
  EXPECT_TRUE(cluster.kept().empty());
}

TEST(KeptNodes, NotForAJobThatALimitKeeps) {
  Full cluster;
  Queue queue = queue_of("team");
  queue.limits.gpus_milli = 1000;
  cluster.declare(queue);
  cluster.submit({.gpus = 2, .queue = "team"});
  cluster.pass(kTwoDays);
  EXPECT_TRUE(cluster.kept().empty());
}

}  // namespace
}  // namespace dove::core
