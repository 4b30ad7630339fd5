#include "core/cycle/scored_places.h"

#include <gtest/gtest.h>

#include "core/cycle/decide_fixture.h"
#include "core/place/score.h"

namespace dove::core {
namespace {

// Prefers the node with the most GPUs free: other than FirstFit, which takes the first.
class Emptiest final : public ScorePolicy {
 public:
  class ByFree final : public Scorer {
   public:
    Score score(const FreeState& node, const TaskShape&) const override {
      return {node.gpus_milli()};
    }
  };
  std::string_view name() const override { return "emptiest/1"; }
  std::unique_ptr<const Scorer> prepare(std::span<const MixEntry>,
                                        std::span<const NodeClass>) const override {
    return std::make_unique<ByFree>();
  }
};

// Nodes of 2, 4 and 3 GPUs.
class ScoredPlaces : public testing::Test {
 protected:
  ScoredPlaces() {
    for (const std::int32_t gpus : {2, 4, 3}) cluster.add_node({.gpus = gpus});
    ClusterSettings settings;
    settings.placement = "emptiest";
    cluster.declare(settings);
  }
  // The nodes that the job is launched on.
  std::vector<std::uint32_t> places(JobSpec spec) {
    static const Emptiest emptiest;
    Policies policies = plain_policies();
    policies.scores = {&emptiest};
    const JobId job = cluster.submit(std::move(spec));
    std::vector<std::uint32_t> nodes;
    for (const Decision& each : decide(cluster.state, policies)) {
      const auto* launch = std::get_if<Launch>(&each);
      if (launch == nullptr || launch->job != job) continue;
      for (const SharedPlacement& place : launch->placements) nodes.push_back(place->node.value);
    }
    return nodes;
  }
  void reserve(const std::string& node) {
    Reservation kept;
    kept.name = "kept-" + node;
    kept.nodes = {node};
    kept.starts_at = cluster.state.now;
    kept.ends_at = cluster.state.now + seconds(3600);
    kept.users = {"bob"};
    cluster.declare(kept);
  }

  TestCluster cluster;
};

using Nodes = std::vector<std::uint32_t>;

TEST_F(ScoredPlaces, ATaskGoesWhereItScoresBest) {
  EXPECT_EQ(places(spec_of({.gpus = 2})), Nodes{2});
  EXPECT_EQ(places(spec_of({.gpus = 1})), Nodes{3});
}

TEST_F(ScoredPlaces, WhatIsNotScoredGoesWhereTheSearchTakesIt) {
  EXPECT_EQ(places(spec_of({.cores = 1})), Nodes{1});
}

// Scores decide where a job goes, never whether.
TEST_F(ScoredPlaces, WhatIsKeptFromTheJobIsPassedOverForTheNextBest) {
  reserve("n2");
  EXPECT_EQ(places(spec_of({.gpus = 2})), Nodes{3});
  reserve("n3");
  EXPECT_EQ(places(spec_of({.gpus = 2})), Nodes{1});
  EXPECT_EQ(places(spec_of({.gpus = 2, .user = "bob"})), Nodes{2});
}

TEST_F(ScoredPlaces, LabelsAreHeededThoughScoresDoNotKnowThem) {
  JobSpec first = spec_of({.gpus = 1});
  first.label = "x";
  EXPECT_EQ(places(first), Nodes{2});
  JobSpec apart = spec_of({.gpus = 1});
  apart.apart_labels = {"x"};
  EXPECT_EQ(places(apart), Nodes{3});
}

TEST_F(ScoredPlaces, OfTheNodesThatAJobNamesItGetsTheBest) {
  JobSpec excludes = spec_of({.gpus = 1});
  excludes.nodes_excluded = {"n2"};
  EXPECT_EQ(places(excludes), Nodes{3});
  JobSpec wanted = spec_of({.gpus = 1});
  wanted.nodes_wanted = {"n[1-2]"};
  EXPECT_EQ(places(wanted), Nodes{2});
  for (const char* name : {"n1", "n3"}) {
    NodeDeclaration declared;
    declared.name = name;
    declared.features = {"ib"};
    cluster.declare(declared);
  }
  JobSpec featured = spec_of({.gpus = 1});
  featured.features = {"ib"};
  EXPECT_EQ(places(featured), Nodes{1}) << "both have two GPUs free";
  EXPECT_EQ(places(featured), Nodes{3});
}

TEST_F(ScoredPlaces, NodesAreLookedAtUntilOneIsWhatTheJobAsksFor) {
  for (int more = 0; more < 30; ++more) cluster.add_node({.gpus = 4});
  NodeDeclaration declared;
  declared.name = "n33";
  declared.features = {"ib"};
  cluster.declare(declared);
  declared.name = "n1";
  cluster.declare(declared);
  JobSpec featured = spec_of({.gpus = 1});
  featured.features = {"ib"};
  EXPECT_EQ(places(featured), Nodes{33});
}

TEST(GoesByUnit, OnlyWhereALevelIsChosenBeforeNodes) {
  TestCluster cluster(2, {.gpus = 2});
  const Domains none;
  JobSpec spec = spec_of({.gpus = 1});
  EXPECT_FALSE(goes_by_unit(spec, none));
  spec.domain = "node";
  EXPECT_FALSE(goes_by_unit(spec, none)) << "that is what scores choose";
  spec.domain = "rack";
  EXPECT_FALSE(goes_by_unit(spec, none)) << "nobody declared such a level";
  spec.domain_required = true;
  EXPECT_TRUE(goes_by_unit(spec, none));
  JobSpec gang = spec_of({.gpus = 1, .tasks = 2});
  gang.domain = "node";
  gang.groups[0].tasks_per_node = 1;
  EXPECT_TRUE(goes_by_unit(gang, none)) << "it is never on one node";
}

}  // namespace
}  // namespace dove::core
