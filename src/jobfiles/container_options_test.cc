#include "jobfiles/container_options.h"

#include <gtest/gtest.h>

namespace dove::jobfiles {
namespace {

const ContainerPlace kPlace{"/home/ann", "/home/ann/work"};

ContainerSpec after(const std::vector<std::pair<std::string_view, std::string>>& options) {
  ContainerSpec container;
  for (const auto& [name, value] : options) {
    const Result<void> set = set_container(name, value, kPlace, container);
    EXPECT_TRUE(set.ok()) << name << ": " << set.error().message;
  }
  return container;
}

TEST(ContainerOptions, ANegationUndoesWhatItNegates) {
  const ContainerSpec set = after({{"container-readonly", ""},
                                   {"container-remap-root", ""},
                                   {"container-entrypoint", ""},
                                   {"container-mount-home", ""}});
  EXPECT_TRUE(set.read_only && set.root && set.entrypoint);
  ASSERT_EQ(set.volumes.size(), 1U);
  EXPECT_EQ(set.volumes[0].source, "/home/ann");
  ContainerSpec undone = set;
  for (const char* name : {"container-writable", "no-container-remap-root",
                           "no-container-entrypoint", "no-container-mount-home"}) {
    ASSERT_TRUE(set_container(name, "", kPlace, undone).ok());
  }
  EXPECT_FALSE(undone.read_only || undone.root || undone.entrypoint || !undone.volumes.empty());
}

TEST(ContainerOptions, MountsReplaceMountsButNotTheHome) {
  const ContainerSpec set = after({{"container-mount-home", ""},
                                   {"container-mounts", "/a,/b"},
                                   {"container-mounts", "./data:/d:ro"}});
  ASSERT_EQ(set.volumes.size(), 2U);
  EXPECT_EQ(set.volumes[1].source, "/home/ann/work/data");
  EXPECT_EQ(set.volumes[1].target, "/d");
}

TEST(ContainerOptions, PathsAreThoseOfTheSubmitter) {
  const ContainerSpec set = after({{"container-image", "./x.sqsh"}, {"container-save", "y.sqsh"}});
  EXPECT_EQ(set.image, "/home/ann/work/x.sqsh");
  EXPECT_EQ(set.save, "/home/ann/work/y.sqsh");
  EXPECT_EQ(after({{"container-image", "nvcr.io#nvidia/pytorch:23.10"}}).image,
            "docker://nvcr.io/nvidia/pytorch:23.10");
}

TEST(ContainerOptions, ANameMaySayWhetherItIsNew) {
  EXPECT_EQ(after({{"container-name", "kept"}}).naming, ContainerNaming::kAny);
  EXPECT_EQ(after({{"container-name", "kept:create"}}).naming, ContainerNaming::kCreate);
  EXPECT_EQ(after({{"container-name", "kept:exec"}}).name, "kept");
  ContainerSpec none;
  for (const char* wrong : {"", ":exec", "a/b", "a:b", "a:exec:x", "..\n"}) {
    EXPECT_FALSE(set_container("container-name", wrong, kPlace, none).ok()) << wrong;
  }
}

}  // namespace
}  // namespace dove::jobfiles
