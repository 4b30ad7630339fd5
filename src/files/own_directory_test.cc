#include "files/own_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace dove::files {
namespace {

class OwnDirectory : public testing::Test {
 protected:
  OwnDirectory() {
    std::string pattern = testing::TempDir() + "own.XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~OwnDirectory() override { std::filesystem::remove_all(folder); }
  static unsigned mode(const std::string& path) {
    struct stat seen = {};
    EXPECT_EQ(::stat(path.c_str(), &seen), 0);
    return seen.st_mode & 07777U;
  }
  std::string folder;
};

TEST_F(OwnDirectory, IsMadeForItsOwnerAlone) {
  ASSERT_TRUE(make_own_directory(folder + "/a/b").ok());
  EXPECT_EQ(mode(folder + "/a/b"), 0700u);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  ASSERT_TRUE(make_own_directory(folder).ok());
  EXPECT_EQ(mode(folder), 0700u);
}

TEST_F(OwnDirectory, OneThatAllMayWriteInStaysAsItIs) {
  ASSERT_EQ(::chmod(folder.c_str(), 01777), 0);
  const auto made = make_own_directory(folder);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "own_directory");
  EXPECT_EQ(mode(folder), 01777u);
}

TEST_F(OwnDirectory, OneThatItsGroupMayWriteInStaysAsItIs) {
  ASSERT_EQ(::chmod(folder.c_str(), 0775), 0);
  EXPECT_FALSE(make_own_directory(folder).ok());
  EXPECT_EQ(mode(folder), 0775u);
  const mode_t before = ::umask(002);
  EXPECT_TRUE(make_own_directory(folder + "/new/").ok()) << "its own, as the umask has it";
  ::umask(before);
  EXPECT_EQ(mode(folder + "/new"), 0700u);
}

TEST_F(OwnDirectory, ALinkToOneIsAllowed) {
  ASSERT_TRUE(make_own_directory(folder + "/there").ok());
  std::filesystem::create_symlink(folder + "/there", folder + "/link");
  EXPECT_TRUE(make_own_directory(folder + "/link").ok());
}

TEST_F(OwnDirectory, AFileInTheWayIsNamed) {
  const auto made = make_own_directory("/dev/null/data");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().field, "/dev/null/data");
}

}  // namespace
}  // namespace dove::files
