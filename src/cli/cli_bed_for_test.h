// The command line run in the test's process, in an empty home, against a FakeServer. For tests.
//
// One thread; the process's environment is changed, and its standard streams are captured.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/fake_server_for_test.h"

namespace dove::cli {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

inline Outcome run(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = run_cli({}, static_cast<int>(arguments.size()), arguments.data());
  outcome.err = testing::internal::GetCapturedStderr();
  outcome.out = testing::internal::GetCapturedStdout();
  return outcome;
}

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("dove-cli-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    for (const char* name :
         {"DOVE_URL", "DOVE_DATA", "DOVE_TOKEN", "DOVE_TOKEN_FILE", "DOVE_JOB_ID", "DOVE_JOB_TOKEN",
          "DOVE_INSECURE", "SQUEUE_FORMAT", "TACC_USERDIR"}) {
      unsetenv(name);
    }
    setenv("HOME", folder_.c_str(), 1);
    setenv("XDG_CONFIG_HOME", (folder_ / "config").c_str(), 1);
    setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
    setenv("DOVE_URL", server_.url().c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  FakeServer server_{{}};
  std::filesystem::path folder_;
};

}  // namespace dove::cli
