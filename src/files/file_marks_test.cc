#include "files/file_marks.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "files/text_file.h"

namespace dove::files {
namespace {

class FileMarksTest : public testing::Test {
 protected:
  FileMarksTest() {
    char name[] = "/tmp/dove-file-marks.XXXXXX";
    folder = mkdtemp(name);
  }
  ~FileMarksTest() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(FileMarksTest, WhatHasChangedAMomentAgoIsReadAgain) {
  const std::string path = folder + "/ca.pem";
  ASSERT_TRUE(write_atomically(path, "one", 0644).ok());
  FileMarks marks({path, folder + "/missing"});
  EXPECT_TRUE(marks.changed());
  EXPECT_TRUE(marks.changed()) << "another change may have the same time";
  std::ofstream(path) << "two";
  EXPECT_TRUE(marks.changed());
}

TEST_F(FileMarksTest, WhatIsAsItWasIsNotRead) {
  // Those of this program are older than a test.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string link = folder + "/link";
  std::filesystem::create_symlink("/bin/sh", link);
  const std::string missing = folder + "/missing";
  FileMarks marks({link, missing});
  EXPECT_TRUE(marks.changed());
  EXPECT_FALSE(marks.changed());
  marks.forget();
  EXPECT_TRUE(marks.changed());
  EXPECT_FALSE(marks.changed());
  std::filesystem::remove(link);
  std::filesystem::create_symlink(self, link);
  EXPECT_TRUE(marks.changed());
  ASSERT_TRUE(write_atomically(missing, "", 0600).ok());
  EXPECT_TRUE(marks.changed());
  std::filesystem::remove(link);
  std::filesystem::remove(missing);
  EXPECT_TRUE(marks.changed());
  EXPECT_FALSE(marks.changed()) << "both are missing";
}

}  // namespace
}  // namespace dove::files
