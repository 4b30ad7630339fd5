#include "core/state/executors/core_numbers.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/state/node.h"

namespace dove::core {
namespace {

// Two sockets of two cores with two threads each, numbered as Linux does: the first threads of all
// cores, in turn by socket, and then the second ones.
Inventory two_sockets() {
  Inventory inventory;
  inventory.thread_order = {0, 4, 2, 6, 1, 5, 3, 7};
  inventory.threads_per_core = 2;
  return inventory;
}

TEST(CoreNumbers, ACoreStandsForAllItsThreads) {
  EXPECT_EQ(threads_of(two_sockets(), {0}), (CoreSet{0, 4}));
  EXPECT_EQ(threads_of(two_sockets(), {1, 2}), (CoreSet{1, 2, 5, 6}));
  EXPECT_EQ(threads_of(two_sockets(), {}), CoreSet{});
}

TEST(CoreNumbers, NumbersThatTheNodeDoesNotHaveArePassedOver) {
  EXPECT_EQ(threads_of(two_sockets(), {3, 4, 99}), (CoreSet{3, 7}));
}

TEST(CoreNumbers, OneThreadIsEnoughForItsCoreToBeNamed) {
  EXPECT_EQ(core_numbers(two_sockets(), {6}), CoreSet{1});
  EXPECT_EQ(core_numbers(two_sockets(), {0, 4, 7}), (CoreSet{0, 3}));
  EXPECT_EQ(core_numbers(two_sockets(), {}), CoreSet{});
  EXPECT_EQ(with_siblings(two_sockets(), {6}), (CoreSet{2, 6}));
}

TEST(CoreNumbers, WithoutAnOrderEachIdIsACore) {
  Inventory plain;
  plain.threads_per_core = 2;
  EXPECT_EQ(threads_per_core(plain), 1);
  EXPECT_EQ(threads_of(plain, {0, 5}), (CoreSet{0, 5}));
  EXPECT_EQ(core_numbers(plain, {5}), CoreSet{5});
  EXPECT_EQ(threads_per_core(two_sockets()), 2);
}

TEST(CoreNumbers, NoThreadsPerCoreAreOne) {
  Inventory odd = two_sockets();
  odd.threads_per_core = 0;
  EXPECT_EQ(threads_per_core(odd), 1);
  EXPECT_EQ(threads_of(odd, {1}), CoreSet{4});
}

TEST(CoreNumbers, OfANodeOfWhichNothingIsKnownTheyStayAsTheyAre) {
  Node node;
  EXPECT_EQ(our_cores(node, {0, 9}), (CoreSet{0, 9}));
  node.inventory = std::make_shared<const Inventory>(two_sockets());
  EXPECT_EQ(our_cores(node, {0, 9}), (CoreSet{0, 4}));
}

TEST(CoreNumbers, WholeCoresAreGivenWhereThreadsAreSharedWithAnExecutor) {
  Node node;
  node.executors.resize(1);
  EXPECT_FALSE(gives_whole_cores(node));
  node.inventory = std::make_shared<const Inventory>(two_sockets());
  EXPECT_TRUE(gives_whole_cores(node));
  node.executors.clear();
  EXPECT_FALSE(gives_whole_cores(node));
  node.executors.resize(1);
  node.inventory = std::make_shared<const Inventory>();
  EXPECT_FALSE(gives_whole_cores(node)) << "each id is a core";
}

}  // namespace
}  // namespace dove::core
