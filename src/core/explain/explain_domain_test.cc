#include "core/explain/explain_domain.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// Racks r1 (n1, n2) and r2 (n3), of nodes with two GPUs.
class ExplainDomain : public testing::Test {
 protected:
  ExplainDomain() {
    for (const auto& [node, rack] : {std::pair{"n1", "r1"}, {"n2", "r1"}, {"n3", "r2"}}) {
      NodeDeclaration place;
      place.name = node;
      place.topology = {{"rack", rack}};
      cluster.declare(place);
    }
  }

  WhatIf& now() {
    nodes = nodes_of(cluster.state, cluster.state.pools.at("default"));
    as_is.emplace(cluster.state, first_fit, nodes);
    return *as_is;
  }
  static JobSpec in_one_rack(const Ask& ask) {
    JobSpec spec = spec_of(ask);
    spec.domain = "rack";
    spec.domain_required = true;
    return spec;
  }

  TestCluster cluster{3, {.cores = 8, .gpus = 2}};
  PoolNodes nodes;
  FirstFit first_fit;
  std::optional<WhatIf> as_is;
};

TEST_F(ExplainDomain, TheUnitsAreListedWithWhatTheyHaveTheBestFirst) {
  cluster.submit_and_start({.gpus = 1}, {1});
  const JobSpec spec = in_one_rack({.gpus = 2, .tasks = 2});
  const Reason reason = no_unit(/*never=*/false, now(), first_fit, spec);
  EXPECT_EQ(reason.kind, ReasonKind::kDomain);
  EXPECT_EQ(reason.level, "rack");
  EXPECT_EQ(reason.resource, "gpus");
  EXPECT_EQ(reason.needs, 4);
  ASSERT_EQ(reason.units.size(), 2u);
  EXPECT_EQ(reason.units[0].unit, "r1");
  EXPECT_EQ(reason.units[0].free, 3);
  EXPECT_EQ(reason.units[0].usable, 2) << "the one that is left on n1 is of no use";
  EXPECT_EQ(reason.units[1].unit, "r2");
  EXPECT_EQ(reason.units[1].usable, 2);
}

TEST_F(ExplainDomain, WhatNeverFitsSaysNothingOfWhatIsFree) {
  const Reason reason =
      no_unit(/*never=*/true, now(), first_fit, in_one_rack({.gpus = 2, .tasks = 3}));
  EXPECT_EQ(reason.kind, ReasonKind::kNeverFits);
  EXPECT_EQ(reason.needs, 6);
  EXPECT_EQ(reason.free, 0);
  EXPECT_EQ(reason.total, 4);
}

TEST_F(ExplainDomain, AJobWithoutGpusIsMeasuredInCores) {
  const Reason reason = no_unit(false, now(), first_fit, in_one_rack({.cores = 5, .tasks = 4}));
  EXPECT_EQ(reason.resource, "cores");
  EXPECT_EQ(reason.needs, 20);
  EXPECT_EQ(reason.units[0].free, 16);
  EXPECT_EQ(reason.units[0].usable, 10);
}

TEST_F(ExplainDomain, PiecesAreToldWithWhoHoldsTheRest) {
  const JobId gang = cluster.submit_and_start({.gpus = 1, .tasks = 3}, {1, 2, 3});
  const JobSpec spec = spec_of({.gpus = 2});
  std::vector<Reason> out;
  add_fragments(now(), first_fit, spec, out);
  EXPECT_TRUE(out.empty()) << "it explains a shortage, and there is none";
  Reason shortage;
  shortage.kind = ReasonKind::kResources;
  shortage.resource = "gpus";
  out.push_back(shortage);
  add_fragments(now(), first_fit, spec, out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].kind, ReasonKind::kFragmented);
  EXPECT_EQ(out[1].free, 3);
  EXPECT_EQ(out[1].total, 0);
  EXPECT_EQ(out[1].count, 3) << "nodes with leftovers";
  EXPECT_EQ(out[1].other, gang);
  out.resize(1);
  add_fragments(now(), first_fit, spec_of({.gpus = 2, .tasks = 2}), out);
  EXPECT_EQ(out.size(), 1u) << "it needs more than is free in all";
}

TEST_F(ExplainDomain, LabelsAreCountedByNode) {
  JobSpec labelled = spec_of({});
  labelled.label = "cache";
  const JobId cache = cluster.submit(labelled);
  cluster.launch(cache, {2});
  cluster.start(cache);
  const auto refused = [&](const JobSpec& spec) {
    NodeChoice choice(cluster.state, spec);
    return labels_refuse(cluster.state, now(), choice);
  };
  JobSpec near = spec_of({});
  near.near_labels = {"cache"};
  Reason reason = refused(near);
  EXPECT_EQ(reason.kind, ReasonKind::kLabels);
  EXPECT_EQ(reason.subject, "near cache");
  EXPECT_EQ(reason.count, 1);
  EXPECT_EQ(reason.total, 3);
  JobSpec apart = spec_of({});
  apart.apart_labels = {"cache"};
  reason = refused(apart);
  EXPECT_EQ(reason.subject, "apart from cache");
  EXPECT_EQ(reason.count, 2);
}

}  // namespace
}  // namespace dove::core
