#include "files/text_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace dove::files {
namespace {

class TextFile : public testing::Test {
 protected:
  TextFile() {
    char name[] = "/tmp/dove-text-file.XXXXXX";
    folder = mkdtemp(name);
  }
  ~TextFile() override { std::filesystem::remove_all(folder); }
  mode_t mode_of(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  }
  std::string folder;
};

TEST_F(TextFile, ReplacesTheOldTextWholly) {
  const std::string path = folder + "/token";
  ASSERT_TRUE(write_atomically(path, "long ago", 0600, Survives::kPowerCut).ok());
  ASSERT_TRUE(write_atomically(path, "new", 0600, Survives::kPowerCut).ok());
  EXPECT_EQ(*read_text(path, 100), "new");
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_F(TextFile, ModeDoesNotDependOnTheUmaskOrOnWhatACrashLeft) {
  const std::string path = folder + "/url";
  ASSERT_TRUE(write_atomically(path + ".new", "left behind", 0600).ok());
  const mode_t before = umask(077);
  ASSERT_TRUE(write_atomically(path, "http://x", 0644).ok());
  umask(before);
  EXPECT_EQ(mode_of(path), 0644u);
}

TEST_F(TextFile, WritesNotThroughALinkThatIsInTheWay) {
  const std::string other = folder + "/other";
  ASSERT_TRUE(write_atomically(other, "theirs", 0600).ok());
  ASSERT_EQ(::symlink(other.c_str(), (folder + "/mine.new").c_str()), 0);
  ASSERT_TRUE(write_atomically(folder + "/mine", "ours", 0600).ok());
  EXPECT_EQ(*read_text(other, 100), "theirs");
  EXPECT_EQ(*read_text(folder + "/mine", 100), "ours");
}

TEST_F(TextFile, ErrorsNameThePath) {
  const auto missing = read_text(folder + "/nothing", 100);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(missing.error().field, folder + "/nothing");
  ASSERT_TRUE(write_atomically(folder + "/big", std::string(101, 'x'), 0600).ok());
  EXPECT_EQ(read_text(folder + "/big", 100).error().kind, ErrorKind::kTooLarge);
  EXPECT_EQ(text_or_empty(folder + "/big", 100), "");
  const auto nowhere = write_atomically(folder + "/no/where", "x", 0600);
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("/no/where"), std::string::npos);
}

TEST_F(TextFile, ReadsFilesWhoseSizeIsNotKnown) {
  EXPECT_NE(text_or_empty("/proc/self/status", 1 << 20).find("Pid:"), std::string::npos);
}

}  // namespace
}  // namespace dove::files
