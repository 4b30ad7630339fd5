#include "slurm/works/output_file.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dove::slurm {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { ::chmod(folder.c_str(), 0755); }
  ~OutputFileTest() override { std::filesystem::remove_all(folder); }
  static std::string somebody() {
    return ::geteuid() == 0 ? "nobody" : ::getpwuid(::geteuid())->pw_name;
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  }
  Result<PartRead> read(const std::string& name, std::int64_t offset = 0,
                        std::int64_t most = 1000) {
    return files.read({"p", somebody(), folder, name, offset, most});
  }
  std::string refused(const std::string& name) {
    const Result<PartRead> part = read(name);
    return part.ok() ? "read: " + part->bytes : part.error().code;
  }

  std::string folder = [] {
    std::string name = std::filesystem::temp_directory_path() / "dove-output-XXXXXX";
    return std::string(::mkdtemp(name.data()));
  }();
  OutputFiles files;
};

TEST_F(OutputFileTest, APartFromAnywhere) {
  write("out", std::string("one\0two\n", 8));
  const Result<PartRead> whole = read("out");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->bytes, std::string("one\0two\n", 8));
  EXPECT_TRUE(whole->at_end);
  const Result<PartRead> middle = read("out", 1, 3);
  EXPECT_EQ(middle->bytes, std::string("ne\0", 3));
  EXPECT_FALSE(middle->at_end);
  const Result<PartRead> last = read("out", -4);
  EXPECT_EQ(last->bytes, "two\n");
  EXPECT_EQ(last->offset, 4);
  EXPECT_EQ(read("out", -100)->offset, 0);
  EXPECT_EQ(read("out", 100)->bytes, "");
  EXPECT_TRUE(read("out", 100)->at_end);
}

TEST_F(OutputFileTest, APartLargerThanAPipeHolds) {
  write("out", std::string(700'000, 'x'));
  const Result<PartRead> part = read("out", 0, OutputFiles::kPartBytesMax);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->bytes.size(), 700'000U);
}

TEST_F(OutputFileTest, APathFromTheRoot) {
  write("out", "text");
  EXPECT_EQ(files.read({"p", somebody(), "/nowhere", folder + "/out", 0, 10})->bytes, "text");
}

TEST_F(OutputFileTest, WhatTheUserMayNotReadIsNotShownThroughALinkEither) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  write("secret", "of root");
  ::chmod((folder + "/secret").c_str(), 0600);
  std::filesystem::create_symlink(folder + "/secret", folder + "/link");
  std::filesystem::create_symlink("loop", folder + "/loop");
  EXPECT_EQ(refused("secret"), "output_denied");
  EXPECT_EQ(refused("link"), "output_denied");
  EXPECT_EQ(refused("loop"), "output_denied");
  EXPECT_EQ(files.read({"p", "root", folder, "secret", 0, 10}).error().code, "root_runs_nothing");
}

TEST_F(OutputFileTest, APipeWithoutAWriterAndADeviceAreRefusedAtOnce) {
  ASSERT_EQ(::mkfifo((folder + "/pipe").c_str(), 0666), 0);
  EXPECT_EQ(refused("pipe"), "output_no_file");
  EXPECT_EQ(refused("/dev/zero"), "output_no_file");
  EXPECT_EQ(refused("."), "output_no_file");
}

TEST_F(OutputFileTest, AFileThatIsNotHereIsNamedWithThisMachine) {
  const Result<PartRead> part = read("none");
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().code, "no_output_file");
  EXPECT_NE(part.error().message.find(folder + "/none on "), std::string::npos);
}

TEST_F(OutputFileTest, WhatTheControllerWants) {
  EXPECT_FALSE(read_part_wanted(R"({"read": null})")->has_value());
  const auto wanted = read_part_wanted(
      R"({"read": {"part": "a", "user": "u", "workdir": "", "path": "x", "offset": -5, "most": 7}})");
  ASSERT_TRUE(wanted.ok() && wanted->has_value());
  EXPECT_EQ((*wanted)->offset, -5);
  EXPECT_EQ((*wanted)->most, 7);
  EXPECT_FALSE(read_part_wanted(R"({"read": {"part": "a", "user": "u", "most": 7}})").ok());
  EXPECT_FALSE(read_part_wanted(R"({"read": {"path": "a", "most": 99999999}})").ok());
}

}  // namespace
}  // namespace dove::slurm
