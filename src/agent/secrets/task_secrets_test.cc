#include "agent/secrets/task_secrets.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotMount = 77;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const std::string& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 0777U : 0;
}

class TaskSecrets : public testing::Test {
 protected:
  TaskSecrets() {
    std::string name = fs::temp_directory_path() / "dove-secrets-XXXXXX";
    data_ = mkdtemp(name.data());
    place_ = secrets_place(data_, "/dev/shm");
    directory_ = secrets_directory(place_, {JobId(7), 1});
  }
  ~TaskSecrets() override {
    remove_secrets(directory_);
    fs::remove_all(place_);
    fs::remove_all(data_);
  }
  std::vector<TaskSecret> secrets_{{"HUB", "", "one"}, {"", "key", "two\n"}, {"BOTH", "both", "x"}};
  std::string data_;
  std::string place_;
  std::string directory_;
};

TEST_F(TaskSecrets, AreForTheirUserAloneAndGoWhole) {
  EXPECT_EQ(secrets_place(data_, "/dev/shm"), place_) << "drawn once";
  ASSERT_TRUE(write_secrets(directory_, secrets_, {}).ok());
  EXPECT_TRUE(has_secrets(directory_));
  EXPECT_EQ(text_of(secret_files(directory_) + "/key"), "two\n");
  EXPECT_EQ(text_of(secret_variables(directory_)), std::string("HUB=one\0BOTH=x\0", 15));
  EXPECT_EQ(mode_of(secret_files(directory_)), 0700U);
  EXPECT_EQ(mode_of(secret_files(directory_) + "/key"), 0400U);
  EXPECT_EQ(mode_of(secret_variables(directory_)), 0400U);
  EXPECT_EQ(secrets_[0].value, "") << "wiped";
  remove_secrets(directory_);
  EXPECT_FALSE(fs::exists(place_));
}

TEST_F(TaskSecrets, OfRunningAttemptsAreFoundWhereAFormerVersionPutThem) {
  const std::string elsewhere = secrets_place(data_, "/elsewhere");
  EXPECT_TRUE(elsewhere.starts_with("/elsewhere/dove-secrets-")) << elsewhere;
  ASSERT_TRUE(write_secrets(directory_, secrets_, {}).ok());
  EXPECT_EQ(secrets_place(data_, "/elsewhere"), place_);
  remove_secrets(directory_);
  EXPECT_EQ(secrets_place(data_, "/elsewhere"), elsewhere);
}

// In a process of its own, whose /run is a tmpfs as systemd's is.
TEST_F(TaskSecrets, LieWhereLogindDoesNotLook) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root writes in /run";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto try_it = [&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", "/run", "tmpfs", 0, "size=1m") != 0) {
      return kCannotMount;
    }
    const std::string directory =
        secrets_directory(secrets_place(data_, secrets_memory()), {JobId(7), 1});
    const bool there = directory.starts_with("/run/dove-secrets-") &&
                       write_secrets(directory, secrets_, {}).ok() && has_secrets(directory);
    remove_secrets(directory);
    return there && fs::is_empty("/run") ? 0 : 1;
  };
  const auto ended = [](int status) {
    return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kCannotMount);
  };
  EXPECT_EXIT(::_exit(try_it()), ended, "");
}

TEST_F(TaskSecrets, LieInMemoryOrNowhere) {
  const std::string place = secrets_place(data_, "/proc");
  const auto written = write_secrets(place + "/7.1", secrets_, {});
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, "no_memory_files");
}

TEST_F(TaskSecrets, WhatNobodyHoldsIsSwept) {
  ASSERT_TRUE(write_secrets(directory_, secrets_, {}).ok());
  fs::create_directories(place_ + "/8.1/files");
  sweep_secrets(place_, [](AttemptKey key) { return key.job == JobId(7); });
  EXPECT_TRUE(has_secrets(directory_));
  EXPECT_FALSE(fs::exists(place_ + "/8.1"));
}

TEST_F(TaskSecrets, AnAnswerThatLeadsElsewhereIsRefused) {
  using Json = nlohmann::json;
  const auto read = [](const char* file, const char* value) {
    return read_secrets(Json{{"secrets", {{{"variable", ""}, {"file", file}, {"value", value}}}}});
  };
  EXPECT_EQ(read("key", "dHdv")->front().value, "two");
  EXPECT_FALSE(read("../key", "dHdv").ok());
  EXPECT_FALSE(read("..", "dHdv").ok());
  EXPECT_FALSE(read("key", "no base64").ok());
  EXPECT_FALSE(read_secrets(Json::object()).ok());
}

}  // namespace
}  // namespace dove::agent
