#include "containers/id_map.h"

#include <gtest/gtest.h>

namespace dove::containers {
namespace {

TEST(IdMapTest, RootInsideIsNobodyOutside) {
  EXPECT_EQ(map_ids({}), (IdMap{{0, kIdBase, kIdCount}}));
}

TEST(IdMapTest, AUserKeepsItsOwnId) {
  EXPECT_EQ(map_ids({1000, 27, 1000}), (IdMap{{0, kIdBase, 27},
                                              {27, 27, 1},
                                              {28, kIdBase + 28, 972},
                                              {1000, 1000, 1},
                                              {1001, kIdBase + 1001, kIdCount - 1001}}));
}

TEST(IdMapTest, LargeIdsAreAdded) {
  EXPECT_EQ(id_map_text(map_ids({200'000, 65'535})),
            "0:1862270976:65535,65535:65535:1,200000:200000:1");
}

TEST(IdMapTest, AUserIsRootInside) {
  EXPECT_EQ(map_root(map_ids({}), 1000), (IdMap{{0, 1000, 1}, {1, kIdBase + 1, kIdCount - 1}}));
  EXPECT_EQ(map_root(map_ids({1}), 1000),
            (IdMap{{0, 1000, 1}, {1, 1, 1}, {2, kIdBase + 2, kIdCount - 2}}));
}

}  // namespace
}  // namespace dove::containers
