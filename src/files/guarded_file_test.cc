#include "files/guarded_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "files/text_file.h"

namespace dove::files {
namespace {

namespace fs = std::filesystem;

class GuardedFile : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / "dove-guarded-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    folder = fs::canonical(folder);
    path = folder + "/program";
    ASSERT_TRUE(write_atomically(path, "#!/bin/sh\n", 0755).ok());
  }
  void TearDown() override { fs::remove_all(folder); }

  // The message, or "" when it is guarded.
  static std::string trouble(const std::string& given) {
    const Result<std::string> file = guarded_file(given);
    return file.ok() ? "" : file.error().message;
  }
  static bool says(const std::string& given, const std::string& words) {
    return trouble(given).find(words) != std::string::npos;
  }

  std::string folder;
  std::string path;
};

TEST_F(GuardedFile, NobodyElseWritesInItOrInItsFolder) {
  EXPECT_EQ(*guarded_file(path), path);
  for (const mode_t mode : {0720, 0702, 0777}) {
    ::chmod(path.c_str(), mode);
    EXPECT_TRUE(says(path, "others may write in " + path + ":"));
  }
  ::chmod(path.c_str(), 0755);
  for (const mode_t mode : {0770, 0757, 01777}) {
    ::chmod(folder.c_str(), mode);
    EXPECT_TRUE(says(path, "others may write in " + folder + ":"));
  }
}

TEST_F(GuardedFile, NobodyElseMovesItsFolder) {
  const std::string inner = folder + "/inner";
  fs::create_directory(inner);
  fs::permissions(inner, fs::perms(0755));
  fs::rename(path, inner + "/program");
  EXPECT_EQ(trouble(inner + "/program"), "");
  ::chmod(folder.c_str(), 0777);
  EXPECT_TRUE(says(inner + "/program", "others may write in " + folder + ":"));
  ::chmod(folder.c_str(), 01777);
  EXPECT_EQ(trouble(inner + "/program"), "");
  // A link to a folder is followed once, now.
  fs::create_directory_symlink(inner, folder + "/turned");
  EXPECT_EQ(*guarded_file(folder + "/turned/program"), inner + "/program");
}

TEST_F(GuardedFile, NobodyElseOwnsIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
  EXPECT_TRUE(says(path, path + " belongs to another user"));
  EXPECT_EQ(guarded_file(path).error().code, "file_unguarded");
}

TEST_F(GuardedFile, IsThereAndRegular) {
  fs::create_symlink(path, folder + "/link");
  for (const std::string& other : {folder, folder + "/link"})
    EXPECT_TRUE(says(other, "no regular file"));
  EXPECT_EQ(guarded_file(folder + "/none").error().code, "file_unreachable");
  EXPECT_EQ(guarded_file(folder + "/none/program").error().code, "file_unreachable");
}

}  // namespace
}  // namespace dove::files
