// ShimTestBed: a directory, a lease and a channel for tests that run real shims. For tests only.
//
// Processes that a test leaves running are killed when it ends.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "agent/tasks/process_sweep.h"
#include "agent/tasks/shim_handle.h"

namespace dove::agent {

class ShimTestBed : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/dove_shim_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    ::chmod(name, 0755);
    const char* given = std::getenv("DOVE_SHIM");
    shim_ = given != nullptr ? given : DOVE_SHIM_PATH;
    mark_ = root_ + "/mark";
  }
  void TearDown() override {
    sweep({{mark_, 0}}, std::chrono::seconds(5));
    std::filesystem::remove_all(root_);
  }

  ShimConfig shell(const std::string& script) const {
    ShimConfig config;
    config.argv = {"/bin/sh", "-c", script};
    config.environment = {{"PATH", "/usr/bin:/bin"}};
    config.mark = mark_;
    config.workdir = root_;
    config.stdout_path = root_ + "/out";
    config.stderr_path = root_ + "/out";
    return config;
  }
  ShimHandle spawn(const ShimConfig& config, const std::string& name = "task") {
    Result<ShimHandle> handle = ShimHandle::spawn(config, dir(name), {shim_, channel_fd_});
    EXPECT_TRUE(handle.ok()) << handle.error().message;
    return handle.ok() ? std::move(handle).value() : ShimHandle();
  }
  // Waits for the shim's end and returns what it says.
  ShimStatus end_of(ShimHandle& handle, const std::string& name = "task") {
    EXPECT_TRUE(handle.reap(20'000)) << "the shim does not end";
    const auto status = read_shim_status(dir(name));
    EXPECT_TRUE(status.ok() && status.value().has_value()) << "no status of " << name;
    return status.ok() && status.value() ? *status.value() : ShimStatus();
  }
  ShimStatus run(const ShimConfig& config) {
    ShimHandle handle = spawn(config);
    return end_of(handle);
  }

  // Waits until `holds`, for at most 10 s.
  static bool wait_until(const std::function<bool()>& holds) {
    for (int i = 0; i < 5'000; ++i) {
      if (holds()) return true;
      ::poll(nullptr, 0, 2);
    }
    return holds();
  }
  std::string dir(const std::string& name) const { return root_ + "/" + name; }
  std::string read(const std::string& name) const {
    std::ifstream file(root_ + "/" + name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // The number that the task writes to a file, once it has.
  pid_t pid_in(const std::string& name) const {
    wait_until([&] { return read(name).ends_with('\n'); });
    return static_cast<pid_t>(std::atoi(read(name).c_str()));
  }
  static bool alive(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t end = line.rfind(')');
    return end != std::string::npos && line.size() > end + 2 && line[end + 2] != 'Z';
  }

  std::string root_;
  std::string shim_;
  std::string mark_;
  int channel_fd_ = -1;
};

}  // namespace dove::agent
