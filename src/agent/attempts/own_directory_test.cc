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

TEST_F(OwnDirectory, IsMadeWhereNobodyElseCanPutAnother) {
  const uid_t user = geteuid() == 0 ? kUser : geteuid();
  fs::permissions(parent, fs::perms::all);  // anybody may write in what all nodes share
  ASSERT_TRUE(make_shared_places(parent).ok());
  ASSERT_TRUE(make_shared_directory(parent, "checkpoints", "1", user, getegid()).ok());
  EXPECT_EQ(owner_of(parent + "/checkpoints"), geteuid());
  EXPECT_EQ(owner_of(parent + "/checkpoints/1"), user);
  fs::remove(parent + "/homes");
  EXPECT_TRUE(make_shared_directory(parent, "homes", "1", user, getegid()).ok()) << "made anew";
  // As where root may not write: what is there stays its owner's.
  fs::permissions(parent + "/homes", fs::perms::all | fs::perms::sticky_bit);
  EXPECT_TRUE(make_shared_directory(parent, "homes", "2", user, getegid()).ok());
}

TEST_F(OwnDirectory, IsNotMadeWhereSomebodyElseCan) {
  const std::string place = parent + "/checkpoints";
  const auto refused = [&](const char* why) {
    const auto made = make_shared_directory(parent, "checkpoints", "1", kUser, kUser);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, "place_not_guarded");
    EXPECT_EQ(made.error().field, place);
    EXPECT_NE(made.error().message.find(why), std::string::npos) << made.error().message;
    EXPECT_FALSE(fs::exists(place + "/1"));
    EXPECT_EQ(make_shared_places(parent).error().code, "place_not_guarded");
  };
  fs::create_directory(parent + "/elsewhere");
  fs::create_directory_symlink(parent + "/elsewhere", place);
  refused("is a link");
  fs::remove(place);
  fs::create_directory(place);
  fs::permissions(place, fs::perms::all);
  refused("has mode 777");
  fs::permissions(place, fs::perms::owner_all);
  if (geteuid() != 0) GTEST_SKIP() << "only root gives directories away";
  ASSERT_EQ(::chown(place.c_str(), kOther, kOther), 0);
  refused("belongs to user 12346");
}

}  // namespace
}  // namespace dove::agent
