// tcloud add: the job file that it writes again.
#include <filesystem>

#include "cli/cli_bed_for_test.h"

namespace dove::cli {
namespace {

TEST_F(CliTest, TcloudAddLeavesTheJobsFileToThoseWhoCouldReadIt) {
  const std::string path = file(
      "tuxiv.conf", "entrypoint:\n  - echo hello\nenvironment:\n  dependencies:\n    - python\n");
  const std::filesystem::path former = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const auto mode : {0600, 0664}) {
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(mode));
    EXPECT_EQ(run({"tcloud", "add", "numpy" + std::to_string(mode)}).code, 0);
    EXPECT_EQ(static_cast<int>(std::filesystem::status(path).permissions()), mode);
  }
  std::filesystem::current_path(former);
}

}  // namespace
}  // namespace dove::cli
