#include "core/place/hostlist.h"

#include <gtest/gtest.h>

namespace dove::core {
namespace {

TEST(Hostlist, Names) {
  EXPECT_TRUE(hostlist_holds("*", "anything"));
  EXPECT_TRUE(hostlist_holds("a1", "a1"));
  EXPECT_TRUE(hostlist_holds("a1,b2", "b2"));
  EXPECT_FALSE(hostlist_holds("a1", "a11"));
  EXPECT_FALSE(hostlist_holds("", "a1"));
}

TEST(Hostlist, RangesKeepTheirWidth) {
  EXPECT_TRUE(hostlist_holds("gpu-[001-004,7]", "gpu-001"));
  EXPECT_TRUE(hostlist_holds("gpu-[001-004,7]", "gpu-004"));
  EXPECT_TRUE(hostlist_holds("gpu-[001-004,7]", "gpu-7"));
  EXPECT_FALSE(hostlist_holds("gpu-[001-004,7]", "gpu-1"));
  EXPECT_FALSE(hostlist_holds("gpu-[001-004,7]", "gpu-005"));
  EXPECT_FALSE(hostlist_holds("gpu-[001-004,7]", "gpu-007"));
  EXPECT_TRUE(hostlist_holds("n[1-10]", "n10"));
  EXPECT_FALSE(hostlist_holds("n[1-10]", "n01"));
}

TEST(Hostlist, SeveralBracketsAndLists) {
  EXPECT_TRUE(hostlist_holds("r[1-2]n[01-16]", "r2n16"));
  EXPECT_FALSE(hostlist_holds("r[1-2]n[01-16]", "r3n16"));
  EXPECT_TRUE(hostlist_holds("x,r[1,2]-a,y", "r1-a"));
}

TEST(Hostlist, MalformedMatchesNothing) {
  EXPECT_FALSE(hostlist_holds("n[1-", "n1"));
  EXPECT_FALSE(hostlist_holds("n[]", "n1"));
  EXPECT_FALSE(hostlist_holds("n[a-b]", "na"));
  EXPECT_FALSE(hostlist_holds("n[1-9999999999999999999999]", "n5"));
}

}  // namespace
}  // namespace dove::core
