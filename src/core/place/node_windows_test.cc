#include "core/place/node_windows.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/state/cluster_fixture.h"

namespace dove::core {
namespace {

TEST(NodeWindows, AreThoseOfEachNode) {
  TestCluster cluster(3);
  cluster.pass(seconds(100));
  const auto reserve = [&](const char* name, std::vector<std::string> nodes, Instant until) {
    Reservation made;
    made.name = name;
    made.nodes = std::move(nodes);
    made.starts_at = cluster.state.now;
    made.ends_at = until;
    cluster.state.reservations[made.name] = made;
  };
  const Instant later = cluster.state.now + seconds(100);
  reserve("all", {"*"}, later);
  reserve("named", {cluster.node(2).name, cluster.node(2).name + ",other"}, later);
  reserve("ranged", {"n[1-2]"}, later);
  reserve("broken", {"n[1-"}, later);
  reserve("over", {"*"}, cluster.state.now);
  const auto all = windows_by_node(cluster.state);
  std::size_t most = 0;
  for (const Node& node : cluster.state.nodes) {
    std::vector<const Reservation*> expected;
    std::vector<const Reservation*> found;
    for (const Window& window : windows_of(cluster.state, node)) expected.push_back(window.of);
    for (const Window& window : all[node.id]) found.push_back(window.of);
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << node.name;
    most = std::max(most, found.size());
  }
  EXPECT_EQ(most, 3U);
}

}  // namespace
}  // namespace dove::core
