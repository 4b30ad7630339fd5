#include "model/huge_pages.h"

#include <gtest/gtest.h>

namespace dove {
namespace {

TEST(HugePages, EachSizeHasOneName) {
  for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 39; bytes *= 2) {
    EXPECT_EQ(huge_page_bytes(huge_pages_name(bytes)), bytes) << huge_pages_name(bytes);
  }
  EXPECT_EQ(huge_pages_name(2 << 20), "hugepages-2Mi");
  EXPECT_EQ(huge_pages_name(1 << 30), "hugepages-1Gi");
}

TEST(HugePages, OtherNamesAreNone) {
  for (const char* name :
       {"", "rdma", "hugepages-", "hugepages-2", "hugepages-Mi", "hugepages-2mi", "hugepages-2MB",
        "hugepages-3Mi", "hugepages-0Mi", "hugepages-02Mi", "hugepages-2048Ki", "hugepages--2Mi",
        "hugepages-2Mi ", "hugepages-1Ti"}) {
    EXPECT_EQ(huge_page_bytes(name), 0) << name;
  }
}

}  // namespace
}  // namespace dove
