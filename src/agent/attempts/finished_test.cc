#include "agent/attempts/finished.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

class FinishedTest : public ::testing::Test {
 protected:
  FinishedTest() {
    std::string pattern = ::testing::TempDir() + "finished.XXXXXX";
    root_ = mkdtemp(pattern.data());
    fs::create_directory(root_ + "/finished");
  }
  ~FinishedTest() override { fs::remove_all(root_); }

  // An attempt of that size whose end was so long ago.
  void put(const std::string& name, std::int64_t age_s, std::size_t bytes) {
    const std::string directory = root_ + "/finished/" + name;
    fs::create_directories(directory + "/output/deep");
    std::ofstream(directory + "/output/deep/r0.stdout") << std::string(bytes, 'x');
    const timespec then{std::time(nullptr) - age_s, 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, directory.c_str(), times, 0), 0);
  }
  bool has(const std::string& name) const { return fs::exists(root_ + "/finished/" + name); }
  int look(FinishedLimits limits) {
    FinishedAttempts finished(loop_, root_ + "/finished", limits);
    finished.start();
    bool began = false;
    EXPECT_TRUE(loop_.run_until(
        [&] {
          began = began || finished.looking();
          return began && !finished.looking();
        },
        std::chrono::seconds(10)));
    return finished.removed();
  }

  std::string root_;
  wire::Loop loop_;
};

TEST_F(FinishedTest, RemovesWhatIsOld) {
  put("1.1", 100, 10);
  put("2.1", 10'000, 10);
  EXPECT_EQ(look({1'000, 1 << 30}), 1);
  EXPECT_TRUE(has("1.1"));
  EXPECT_FALSE(has("2.1"));
}

TEST_F(FinishedTest, RemovesTheOldestBeyondTheSize) {
  for (int i = 1; i <= 5; ++i) put(std::to_string(i) + ".1", 100 - i, 100'000);
  EXPECT_EQ(look({1'000, 250'000}), 3);
  EXPECT_TRUE(has("5.1"));
  EXPECT_TRUE(has("4.1"));
  EXPECT_FALSE(has("3.1"));
  EXPECT_FALSE(has("1.1"));
}

TEST_F(FinishedTest, TheOldestGoEarlyWhenTheDiskHasLittleRoom) {
  for (int i = 1; i <= 5; ++i) put(std::to_string(i) + ".1", 100 - i, 100'000);
  FinishedLimits limits{1'000, 1 << 30};
  limits.free_least = 1'000'000;
  limits.free_bytes = [this](int) {
    std::int64_t free_bytes = 800'000;  // while all of them are there
    for (int i = 1; i <= 5; ++i) free_bytes += has(std::to_string(i) + ".1") ? 0 : 102'400;
    return free_bytes;
  };
  FinishedAttempts finished(loop_, root_ + "/finished", limits);
  finished.start();
  ASSERT_TRUE(loop_.run_until([&] { return finished.removed() == 2; }, std::chrono::seconds(10)));
  EXPECT_FALSE(
      loop_.run_until([&] { return finished.removed() > 2; }, std::chrono::milliseconds(200)));
  EXPECT_FALSE(has("1.1"));
  EXPECT_FALSE(has("2.1"));
  EXPECT_TRUE(has("3.1"));
}

TEST_F(FinishedTest, NeverFollowsALink) {
  fs::create_directory(root_ + "/precious");
  std::ofstream(root_ + "/precious/thesis") << "years";
  put("1.1", 10'000, 10);
  fs::create_directory_symlink(root_ + "/precious", root_ + "/finished/1.1/output/link");
  fs::create_directory_symlink(root_ + "/precious", root_ + "/finished/2.1");
  const timespec then[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root_ + "/finished/1.1").c_str(), then, 0), 0);
  ASSERT_EQ(::utimensat(AT_FDCWD, (root_ + "/finished/2.1").c_str(), then, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_EQ(look({1'000, 1 << 30}), 2);
  EXPECT_FALSE(has("1.1"));
  EXPECT_FALSE(fs::is_symlink(root_ + "/finished/2.1"));
  EXPECT_TRUE(fs::exists(root_ + "/precious/thesis"));
}

}  // namespace
}  // namespace dove::agent
