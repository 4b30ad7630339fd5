#include "core/explain/place_causes.h"

#include <gtest/gtest.h>

#include "core/place/fit.h"
#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

// As Request, of which a part may be left out.
struct Part {
  std::int32_t cores = 0;
  std::int64_t memory_bytes = 0;
  std::int32_t gpus = 0;
  std::int32_t share_milli = 0;
  std::string slice = {};
  std::int32_t slices = 0;
  std::string gpu_model = {};
  std::vector<Countable> countables = {};
};

Request request_of(const Part& part) {
  return {part.cores,  part.memory_bytes, part.gpus, part.share_milli, part.slice,
          part.slices, part.gpu_model,    0,         part.countables};
}

// Two nodes of eight cores and two GPUs.
class PlaceCausesTest : public testing::Test {
 protected:
  // Until the next call.
  PlaceCauses& of(const JobSpec& spec) {
    job = job_of(cluster.state, std::make_shared<const JobSpec>(spec));
    index.emplace(cluster.state, plain_policies());
    causes.emplace(*index, cluster.state.pools.at("default"), job);
    return *causes;
  }
  PlaceCauses& of(const Ask& ask) { return of(spec_of(ask)); }
  static std::vector<std::string> names(const std::vector<Kind>& kinds) {
    std::vector<std::string> found;
    for (const Kind& kind : kinds) found.push_back(kind.name);
    return found;
  }
  static std::vector<Kind> kinds_of_task(const Part& part) {
    JobSpec spec = spec_of({.cores = 0});
    spec.groups[0].per_task = request_of(part);
    return kinds_of(spec);
  }
  static std::vector<std::string> kinds(const Part& part) { return names(kinds_of_task(part)); }
  void reserve(const char* name, const char* node) {
    Reservation made;
    made.name = name;
    made.nodes = {node};
    made.starts_at = cluster.state.now;
    made.ends_at = cluster.state.now + seconds(1000);
    made.users = {"bob"};
    cluster.declare(made);
  }
  std::vector<std::string> reservations_in(Causes gone) {
    std::vector<std::string> found;
    for (const Reservation* one : causes->reservations_in(gone)) found.push_back(one->name);
    return found;
  }

  using Names = std::vector<std::string>;
  TestCluster cluster{2, {.cores = 8, .gpus = 2}};
  Job job;
  std::optional<ExplainIndex> index;
  std::optional<PlaceCauses> causes;
};

TEST_F(PlaceCausesTest, TheKindsAreThoseOfWhichItAsksForAny) {
  EXPECT_EQ(kinds({}), Names{});
  EXPECT_EQ(kinds({.cores = 1, .gpus = 1}), (Names{"cores", "gpus"}));
  EXPECT_EQ(kinds({.memory_bytes = 1, .share_milli = 500}), (Names{"memory_bytes", "share_milli"}));
  EXPECT_EQ(kinds({.slice = "1g.18gb", .slices = 1}), Names{"slice:1g.18gb"});
  EXPECT_EQ(kinds({.cores = 1, .countables = {{"a", 1}, {"b", 0}, {"c", 2}}}),
            (Names{"cores", "a", "c"}));
}

TEST_F(PlaceCausesTest, WholeDevicesAreToldBeforeSlicesAndShares) {
  JobSpec spec = spec_of({});
  spec.groups[0].per_task.share_milli = 500;
  spec.groups.push_back(spec_of({.gpus = 1}).groups[0]);
  EXPECT_EQ(names(kinds_of(spec)), (Names{"cores", "gpus"}));
}

TEST_F(PlaceCausesTest, ThereAreNoMoreKindsThanBits) {
  Part request{.cores = 1};
  for (std::size_t i = 0; i < kKinds_max; ++i) {
    request.countables.push_back({fmt::format("c{:02}", i), 1});
  }
  const Names found = kinds(request);
  EXPECT_EQ(found.size(), kKinds_max);
  EXPECT_EQ(found.front(), "cores");
  EXPECT_EQ(found.back(), "c22");
}

TEST_F(PlaceCausesTest, WhatIsFreeIsCountedAsTheKindIsAskedFor) {
  cluster.submit_and_start({.cores = 3, .gpus = 1}, {1});
  const Node& node = cluster.node(1);
  const auto free = [&](const Part& part) { return kinds_of_task(part).at(0).free(view_of(node)); };
  EXPECT_EQ(free({.cores = 1}), 5);
  EXPECT_EQ(free({.memory_bytes = 1}), 1000);
  EXPECT_EQ(free({.gpus = 1}), 1);
  EXPECT_EQ(free({.gpus = 1, .gpu_model = "A100"}), 0);
  EXPECT_EQ(free({.share_milli = 100}), 1000) << "on one device";
  EXPECT_EQ(free({.slice = "1g.18gb", .slices = 2}), 7);
}

TEST_F(PlaceCausesTest, AKindIsTakenOutOfARequest) {
  const Part all{.cores = 2, .memory_bytes = 5, .gpus = 3, .countables = {{"a", 1}, {"b", 2}}};
  Request request = request_of(all);
  for (const Kind& kind : kinds_of_task(all)) {
    EXPECT_GT(kind.asked(request), 0) << kind.name;
    const Request before = request;
    kind.clear(request);
    EXPECT_EQ(kind.asked(request), 0) << kind.name;
    EXPECT_NE(before, request) << kind.name;
  }
  EXPECT_EQ(request, Request{});
}

TEST_F(PlaceCausesTest, OnlyWhatCouldMatterIsApplicable) {
  EXPECT_EQ(of(Ask{}).applicable(), 0u);
  JobSpec spec = spec_of({});
  spec.label = "web";
  EXPECT_EQ(of(spec).applicable(), kLabelsCause);
  spec.label = "";
  spec.nodes_excluded = {"n1"};
  EXPECT_EQ(of(spec).applicable(), kChoiceCause);
  spec.nodes_excluded.clear();
  spec.domain = "rack";
  EXPECT_EQ(of(spec).applicable(), 0u) << "it is only preferred";
  spec.domain_required = true;
  EXPECT_EQ(of(spec).applicable(), kDomainCause);
  cluster.tell(NodeDisconnected{NodeId(2), /*silent=*/true});
  EXPECT_EQ(of(Ask{}).applicable(), kUnavailableCause);
}

TEST_F(PlaceCausesTest, OneNodeThatIsToBeSeveralContradictsItself) {
  JobSpec spec = spec_of({.tasks = 2});
  spec.domain = kNodeLevel;
  spec.domain_required = true;
  EXPECT_EQ(of(spec).applicable(), 0u);
  spec.groups[0].tasks_per_node = 2;
  EXPECT_EQ(of(spec).applicable(), 0u);
  spec.groups[0].tasks_per_node = 1;
  EXPECT_EQ(of(spec).applicable(), kDomainCause);
  EXPECT_FALSE(causes->fits(0));
  EXPECT_TRUE(causes->fits(kDomainCause));
}

TEST_F(PlaceCausesTest, AReservationMattersUntilItIsOver) {
  reserve("r", "n1");
  EXPECT_EQ(of(Ask{}).applicable(), kReservedCause);
  EXPECT_EQ(of({.user = "bob"}).applicable(), kReservedCause);
  JobSpec inside = spec_of({.user = "bob", .limit_s = 60});
  inside.reservation = "r";
  EXPECT_EQ(of(inside).applicable(), kReservedCause | kInsideCause);
  cluster.pass(seconds(1000));
  EXPECT_EQ(of(Ask{}).applicable(), 0u);
}

TEST_F(PlaceCausesTest, WhatOthersHoldIsACauseByItself) {
  for (const std::uint32_t node : {1u, 2u})
    cluster.submit_and_start({.cores = 2, .gpus = 2}, {node});
  PlaceCauses& found = of({.cores = 7, .gpus = 1});
  ASSERT_EQ(names(found.kinds()), (Names{"cores", "gpus"}));
  EXPECT_FALSE(found.fits(0));
  EXPECT_FALSE(found.fits(allocated_cause(0)));
  EXPECT_FALSE(found.fits(allocated_cause(1)));
  EXPECT_TRUE(found.fits(found.all_allocated()));
  EXPECT_TRUE(found.fits(kOccupiedCause));
  EXPECT_FALSE(found.fits(scarce_cause(1))) << "seven cores are not free";
  EXPECT_TRUE(found.fits(scarce_cause(0) | scarce_cause(1)));
}

TEST_F(PlaceCausesTest, EachKindIsTriedAsIfItAloneWereAskedFor) {
  cluster.submit_and_start({.gpus = 2}, {1});
  cluster.submit_and_start({.gpus = 1}, {2});
  PlaceCauses& found = of({.cores = 7, .gpus = 2});
  EXPECT_TRUE(found.fits_only(0, nullptr));
  EXPECT_TRUE(found.fits_only(0, &found.kinds()[0]));
  EXPECT_FALSE(found.fits_only(0, &found.kinds()[1]));
  EXPECT_TRUE(found.fits_only(kOccupiedCause, &found.kinds()[1]));
}

TEST_F(PlaceCausesTest, ASpecIsLightenedByWhatIsThoughtAway) {
  JobSpec spec = spec_of({.cores = 2, .gpus = 2, .tasks = 3});
  spec.label = "a";
  spec.near_labels = {"b"};
  spec.domain = "rack";
  spec.domain_required = true;
  spec.nodes_wanted = {"n1"};
  spec.features = {"ib"};
  PlaceCauses& found = of(spec);
  EXPECT_EQ(found.spec_without(0), spec);
  EXPECT_EQ(found.spec_without(kLabelsCause).near_labels, Names{});
  EXPECT_EQ(found.spec_without(kDomainCause).domain, "");
  EXPECT_EQ(found.spec_without(kChoiceCause).nodes_wanted, Names{});
  const JobSpec scarce = found.spec_without(scarce_cause(1));
  EXPECT_EQ(scarce.groups[0].per_task.gpus, 0);
  EXPECT_EQ(scarce.groups[0].per_task.cores, 2);
  const JobSpec any = found.spec_without(kTooFewCause);
  EXPECT_EQ(any.groups[0].tasks, 1);
  EXPECT_EQ(any.features, Names{});
  EXPECT_EQ(any.nodes_wanted, Names{"n1"}) << "that is another cause";
}

TEST_F(PlaceCausesTest, OnEmptyNodesNobodyIsNear) {
  JobSpec spec = spec_of({});
  spec.near_labels = {"web"};
  PlaceCauses& found = of(spec);
  EXPECT_FALSE(found.fits(0));
  EXPECT_FALSE(found.fits(kOccupiedCause));
  EXPECT_TRUE(found.fits(kLabelsCause));
  EXPECT_TRUE(found.fits(kLabelsCause | kOccupiedCause));
}

TEST_F(PlaceCausesTest, AwayNodesAreThereAsSoonAsThatIsThoughtAway) {
  cluster.tell(NodeDisconnected{NodeId(2), /*silent=*/true});
  PlaceCauses& found = of({.gpus = 2, .tasks = 2});
  EXPECT_FALSE(found.fits(0));
  EXPECT_FALSE(found.fits(kOccupiedCause));
  EXPECT_TRUE(found.fits(kUnavailableCause));
  EXPECT_EQ(found.places(kUnavailableCause, {})->size(), 2u);
  EXPECT_EQ(found.places(0, {}), std::nullopt);
}

TEST_F(PlaceCausesTest, OnlyReservationsWithoutWhichItDoesNotFitAreNeeded) {
  reserve("a", "n1");
  reserve("b", "n2");
  EXPECT_FALSE(of({.gpus = 2}).fits(0));
  EXPECT_TRUE(causes->fits(kReservedCause));
  EXPECT_EQ(reservations_in(kReservedCause), Names{"b"}) << "either would do";
  of({.gpus = 2, .tasks = 2});
  EXPECT_EQ(reservations_in(kReservedCause), (Names{"a", "b"}));
  cluster.submit_and_start({.gpus = 1}, {2});
  of({.gpus = 2});
  EXPECT_EQ(reservations_in(kReservedCause), Names{"a"}) << "n2 is in use";
  EXPECT_EQ(reservations_in(kReservedCause | kOccupiedCause), Names{"b"});
}

TEST_F(PlaceCausesTest, AJobInsideItsReservationMayBeThoughtOutside) {
  reserve("r", "n1");
  JobSpec spec = spec_of({.gpus = 1, .tasks = 3, .user = "bob", .limit_s = 60});
  spec.reservation = "r";
  PlaceCauses& found = of(spec);
  EXPECT_FALSE(found.fits(0)) << "n1 has two GPUs";
  EXPECT_TRUE(found.fits(kInsideCause));
}

}  // namespace
}  // namespace dove::core
