#include "core/state/amount.h"

#include <gtest/gtest.h>

#include "core/state/books.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(Amount, TheLeastIsWhatAllTasksAskFor) {
  JobSpec spec = spec_of({.cores = 2, .gpus = 1, .tasks = 4});
  spec.groups[0].per_node.memory_bytes = 10;
  spec.groups[0].nodes_min = 2;
  const Amount least = least_amount(spec);
  EXPECT_EQ(least.cores, 8);
  EXPECT_EQ(least.gpus_milli, 4000);
  EXPECT_EQ(least.memory_bytes, 20);  // once for each node that it has to use
}

TEST(Amount, NamesTheModelInLowerCaseAndOnlyWhenThereIsOne) {
  JobSpec spec = spec_of({.gpus = 2});
  EXPECT_TRUE(least_amount(spec).gpus_by_model.empty());
  spec.groups[0].per_task.gpu_model = "H200";
  EXPECT_EQ(amount_of(least_amount(spec).gpus_by_model, "h200"), 2000);
  spec.groups[0].per_task.gpu_model = "H200|A100";  // known once it has a place
  EXPECT_TRUE(least_amount(spec).gpus_by_model.empty());
}

TEST(Amount, OfPlacementsIsWhatTheyHold) {
  TestCluster cluster(1, {.gpus = 4});
  const Placement held = first_free(cluster.node(1), spec_of({.cores = 3, .gpus = 2}));
  const Amount amount = amount_of(cluster.state, {held});
  EXPECT_EQ(amount.cores, 3);
  EXPECT_EQ(amount.gpus_milli, 2000);
  EXPECT_TRUE(amount.gpus_by_model.empty());  // nobody limits by models
}

}  // namespace
}  // namespace dove::core
