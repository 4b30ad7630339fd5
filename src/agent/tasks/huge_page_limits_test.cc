#include "agent/tasks/huge_page_limits.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A directory with the files that the kernel puts into a cgroup.
class HugePageLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dove_hugetlb.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  void add(const std::string& name) { std::ofstream(directory_ / name); }
  std::string text(const std::string& name) {
    std::stringstream text;
    text << std::ifstream(directory_ / name).rdbuf();
    return text.str();
  }

  fs::path directory_;
};

TEST_F(HugePageLimitsTest, EverySizeIsLimitedInUseAndReserved) {
  for (const char* name : {"hugetlb.2MB.max", "hugetlb.2MB.rsvd.max", "hugetlb.1GB.max",
                           "hugetlb.1GB.rsvd.max", "hugetlb.64KB.max", "hugetlb.2MB.current",
                           "hugetlb.2MB.events", "memory.max", "hugetlb.odd.max"}) {
    add(name);
  }
  ASSERT_TRUE(limit_huge_pages(directory_, {{2 * kMiB, 64 * kMiB}, {64 << 10, 128 << 10}}).ok());
  EXPECT_EQ(text("hugetlb.2MB.max"), "67108864");
  EXPECT_EQ(text("hugetlb.2MB.rsvd.max"), "67108864");
  EXPECT_EQ(text("hugetlb.64KB.max"), "131072");
  EXPECT_EQ(text("hugetlb.1GB.max"), "0") << "nothing was asked of it";
  EXPECT_EQ(text("hugetlb.1GB.rsvd.max"), "0");
  for (const char* other :
       {"hugetlb.2MB.current", "hugetlb.2MB.events", "memory.max", "hugetlb.odd.max"}) {
    EXPECT_EQ(text(other), "") << other;
  }
}

TEST_F(HugePageLimitsTest, TheFilesOfVersionOneAreKnownToo) {
  for (const char* name : {"hugetlb.1GB.limit_in_bytes", "hugetlb.1GB.rsvd.limit_in_bytes",
                           "hugetlb.2MB.limit_in_bytes", "hugetlb.2MB.failcnt"}) {
    add(name);
  }
  ASSERT_TRUE(limit_huge_pages(directory_, {{kGiB, 2 * kGiB}}).ok());
  EXPECT_EQ(text("hugetlb.1GB.limit_in_bytes"), "2147483648");
  EXPECT_EQ(text("hugetlb.1GB.rsvd.limit_in_bytes"), "2147483648");
  EXPECT_EQ(text("hugetlb.2MB.limit_in_bytes"), "0");
  EXPECT_EQ(text("hugetlb.2MB.failcnt"), "");
}

TEST_F(HugePageLimitsTest, WhatCannotBeSetIsNamed) {
  EXPECT_TRUE(limit_huge_pages(directory_, {{kGiB, kGiB}}).ok()) << "a kernel without such pages";
  fs::create_directory(directory_ / "hugetlb.2MB.max");
  const Result<void> refused = limit_huge_pages(directory_, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("hugetlb.2MB.max to 0"), std::string::npos);
  EXPECT_FALSE(limit_huge_pages(directory_ / "none", {}).ok());
}

}  // namespace
}  // namespace dove::agent
