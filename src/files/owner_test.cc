#include "files/owner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "files/text_file.h"

namespace dove::files {
namespace {

constexpr Owner kOther{12345, 23456};

class OwnerTest : public testing::Test {
 protected:
  OwnerTest() {
    char name[] = "/tmp/dove-owner.XXXXXX";
    folder = mkdtemp(name);
  }
  ~OwnerTest() override { std::filesystem::remove_all(folder); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  }
  std::string name_of(const std::string& path) const {
    const std::optional<Owner> owner = owner_of(path);
    return owner ? std::to_string(owner->user) + ":" + std::to_string(owner->group) : "none";
  }
  std::string folder;
};

TEST_F(OwnerTest, WhatRootWritesForADirectorysUserIsThatUsers) {
  ASSERT_EQ(::chown(folder.c_str(), kOther.user, kOther.group), 0);
  const std::string key = folder + "/key";
  ASSERT_TRUE(write_for_owner(key, "k", 0600).ok());
  EXPECT_EQ(name_of(key), "12345:23456");
  ASSERT_TRUE(write_atomically(key, "k", 0600).ok());
  EXPECT_EQ(name_of(key), "0:0");
}

TEST_F(OwnerTest, ATreeIsGivenButForWhatIsAnothers) {
  std::filesystem::create_directory(folder + "/inner");
  const std::string file = folder + "/inner/log";
  const std::string elsewhere = folder + ".elsewhere";
  ASSERT_TRUE(write_atomically(file, "l", 0600).ok());
  ASSERT_TRUE(write_atomically(folder + "/third", "t", 0600).ok());
  ASSERT_EQ(::chown((folder + "/third").c_str(), 7, 7), 0);
  ASSERT_TRUE(write_atomically(elsewhere, "root's", 0600).ok());
  std::filesystem::create_symlink(elsewhere, folder + "/link");
  std::filesystem::create_directory(elsewhere + ".d");
  ASSERT_TRUE(write_atomically(elsewhere + ".d/file", "root's", 0600).ok());
  std::filesystem::create_directory_symlink(elsewhere + ".d", folder + "/inner/link");
  std::filesystem::create_hard_link(elsewhere, folder + "/hard");
  ASSERT_TRUE(give_tree(folder, kOther).ok());
  for (const std::string& path : {folder, folder + "/inner", file}) {
    EXPECT_EQ(name_of(path), "12345:23456") << path;
  }
  EXPECT_EQ(name_of(folder + "/third"), "7:7");
  EXPECT_EQ(name_of(elsewhere), "0:0");
  EXPECT_EQ(name_of(elsewhere + ".d"), "0:0");
  EXPECT_EQ(name_of(elsewhere + ".d/file"), "0:0");
  std::filesystem::remove(elsewhere);
  std::filesystem::remove_all(elsewhere + ".d");
}

}  // namespace
}  // namespace dove::files
