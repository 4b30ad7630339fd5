#include "agent/attempts/own_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 12345;
constexpr uid_t kOther = 12346;

class OwnDirectory : public testing::Test {
 protected:
  OwnDirectory() {
    char name[] = "/tmp/dove-own-directory.XXXXXX";
    parent = mkdtemp(name);
  }
  ~OwnDirectory() override { fs::remove_all(parent); }
  static uid_t owner_of(const std::string& path) {
    struct stat info {};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0);
    return info.st_uid;
  }
  std::string parent;
};

TEST_F(OwnDirectory, IsItsUsersAlone) {
  const uid_t user = geteuid() == 0 ? kUser : geteuid();
  ASSERT_TRUE(make_own_directory(parent, "1", user, getegid()).ok());
  EXPECT_EQ(owner_of(parent + "/1"), user);
  EXPECT_EQ(fs::status(parent + "/1").permissions(), fs::perms::owner_all);
  EXPECT_TRUE(make_own_directory(parent, "1", user, getegid()).ok());  // of a later attempt
}

TEST_F(OwnDirectory, FollowsNoLink) {
  const std::string target = parent + "/roots";
  fs::create_directory(target);
  fs::create_directory_symlink(target, parent + "/1");
  EXPECT_FALSE(make_own_directory(parent, "1", kUser, kUser).ok());
  EXPECT_EQ(owner_of(target), geteuid());
}

TEST_F(OwnDirectory, GivesNobodyWhatAnotherMade) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives directories away";
  ASSERT_TRUE(make_own_directory(parent, "2", kOther, kOther).ok());
  const auto taken = make_own_directory(parent, "2", kUser, kUser);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().code, "not_theirs");
  EXPECT_NE(taken.error().message.find(parent + "/2"), std::string::npos);
  EXPECT_EQ(owner_of(parent + "/2"), kOther);
  // Nor what lay there before, root's own or not.
  fs::create_directory(parent + "/3");
  EXPECT_FALSE(make_own_directory(parent, "3", kUser, kUser).ok());
}

}  // namespace
}  // namespace dove::agent
