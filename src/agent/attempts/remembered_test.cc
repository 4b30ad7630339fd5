#include "agent/attempts/remembered.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/attempts/attempt_record.h"

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

class Remembered : public ::testing::Test {
 protected:
  Remembered() {
    std::string name = (fs::temp_directory_path() / "dove-remembered.XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~Remembered() override { fs::remove_all(root_); }

  void keep(const std::string& name, int exit_code, int minutes_old) {
    const std::string directory = root_ + "/" + name;
    fs::create_directory(directory);
    std::ofstream(directory + "/record") << "{}\n";  // the order
    protocol::Ended ended{*read_key(name), {TaskExit{0, exit_code, 0, ""}}};
    ended.cpu_us = 7;
    write_ended(directory, ended, /*started_us=*/1);
    fs::last_write_time(directory,
                        fs::file_time_type::clock::now() - std::chrono::minutes(minutes_old));
  }

  std::string root_;
};

TEST_F(Remembered, TheLastOnesAreBroughtWithTheirExits) {
  keep("7.1", 0, 30);
  keep("8.2", 3, 20);
  keep("9.1", 0, 40);
  fs::create_directory(root_ + "/10.1");  // without a record
  fs::create_directory(root_ + "/no-key");
  const auto ends = remembered_ends(root_, 3);
  ASSERT_EQ(ends.size(), 2u) << "10.1, the youngest, has no end";
  EXPECT_EQ(ends[0].key.text(), "8.2");
  EXPECT_EQ(ends[0].exits.at(0).exit_code, 3);
  EXPECT_EQ(ends[0].stage, protocol::ActiveStage::kEnded);
  EXPECT_EQ(ends[0].cpu_us, 7);
  EXPECT_EQ(ends[1].key.text(), "7.1");
}

TEST_F(Remembered, ADirectoryThatIsNotThereHasNone) {
  EXPECT_TRUE(remembered_ends(root_ + "/none", 10).empty());
}

}  // namespace
}  // namespace dove::agent
