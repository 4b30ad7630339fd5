#include "core/explain/pool_books.h"

#include <gtest/gtest.h>

#include "core/queue/policies_fixture.h"
#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

class PoolBooksTest : public testing::Test {
 protected:
  std::int64_t with_room(const WhatIf& some, const JobSpec& spec) {
    NodeChoice choice(cluster.state, spec);
    return some.count_with_room(choice);
  }
  std::int64_t with_a_gpu(const WhatIf& some) { return with_room(some, spec_of({.gpus = 1})); }

  TestCluster cluster{3, {.cores = 8, .gpus = 1}};
  FirstFit first_fit;
  PoolBooks books{cluster.state, first_fit, cluster.state.pools.at("default")};
  const Freed devices{.devices = true};
};

TEST_F(PoolBooksTest, KeptOnesFollowANode) {
  EXPECT_EQ(with_a_gpu(books.all()), 3);
  EXPECT_EQ(with_a_gpu(books.all(devices)), 3);
  cluster.submit_and_start({.gpus = 1}, {2});
  books.update(NodeId(2));
  EXPECT_EQ(with_a_gpu(books.all()), 2);
  EXPECT_EQ(with_a_gpu(books.all(devices)), 3) << "as it would be with devices free";
}

TEST_F(PoolBooksTest, NodesThatAreAwayAreNotAvailable) {
  EXPECT_EQ(with_a_gpu(books.available()), 3);
  cluster.tell(NodeDisconnected{NodeId(1), /*silent=*/true});
  books.update(NodeId(1));
  EXPECT_EQ(books.nodes().available, 2u);
  EXPECT_EQ(with_a_gpu(books.available()), 2);
  EXPECT_EQ(with_a_gpu(books.all()), 3);
  cluster.tell(NodeConnected{NodeId(1), "boot"});
  books.update(NodeId(1));
  EXPECT_EQ(with_a_gpu(books.available()), 3);
}

TEST_F(PoolBooksTest, WhatIsKeptIsWhatWouldBeMadeAnew) {
  (void)books.available(devices);
  for (std::uint32_t number : {3, 1, 2}) {
    cluster.submit_and_start({.cores = 3, .gpus = 1}, {number});
    books.update(NodeId(number));
    PoolBooks anew{cluster.state, first_fit, cluster.state.pools.at("default")};
    EXPECT_EQ(with_a_gpu(books.all()), with_a_gpu(anew.all()));
    EXPECT_EQ(with_a_gpu(books.available(devices)), with_a_gpu(anew.available(devices)));
    const JobSpec wide = spec_of({.cores = 6});
    EXPECT_EQ(with_room(books.all(), wide), with_room(anew.all(), wide));
  }
}

}  // namespace
}  // namespace dove::core
