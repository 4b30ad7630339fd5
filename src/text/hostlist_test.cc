#include "text/hostlist.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace dove::text {
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

TEST(Hostlist, IsFoldedAsSlurmDoes) {
  EXPECT_EQ(fold_hostlist({}), "");
  EXPECT_EQ(fold_hostlist({"solo"}), "solo");
  EXPECT_EQ(fold_hostlist({"n1", "n2", "n3", "n5", "n7", "login"}), "n[1-3,5,7],login");
  EXPECT_EQ(fold_hostlist({"gpu-009", "gpu-010"}), "gpu-[009-010]");
  EXPECT_EQ(fold_hostlist({"n9", "n10"}), "n9,n10");
  EXPECT_EQ(fold_sorted_hostlist({"n10", "n9", "n3", "n8"}), "n[3,8-9],n10");
}

TEST(Hostlist, IsUnfolded) {
  const auto names = [](const char* list) {
    return fmt::format("{}", fmt::join(expand_hostlist(list), " "));
  };
  EXPECT_EQ(names("gpu-[009-011,020],login"), "gpu-009 gpu-010 gpu-011 gpu-020 login");
  EXPECT_EQ(names("r[1-2]n[1-2]"), "r1n1 r1n2 r2n1 r2n2");
  EXPECT_EQ(names(""), "");
  EXPECT_EQ(names("a,n[x],b"), "a n[x] b");
  EXPECT_EQ(names("a,n[1"), "a,n[1");
}

TEST(Hostlist, HasABound) {
  EXPECT_EQ(expand_host("n[1-3]", 3)->size(), 3U);
  EXPECT_EQ(expand_host("n[1-4]", 3), std::nullopt);
  EXPECT_EQ(expand_host("a[0-999]b[0-999]", 20'000), std::nullopt);
  EXPECT_EQ(expand_host(std::string(300, 'a') + "[1-2]", 20), std::nullopt);
}

}  // namespace
}  // namespace dove::text
