#include "agent/forward/task_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace dove::agent {
namespace {

namespace fs = std::filesystem;

class TaskSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/dove-task-socket.XXXXXX";
    folder_ = ::mkdtemp(pattern);
    attempt_ = folder_ + "/7.1";
    ExecSpec exec;
    EXPECT_EQ(sockets_directory(attempt_, exec), attempt_ + "/work");
    exec.workdir = "/shared/ann";
    sockets_ = sockets_directory(attempt_, exec);
    fs::create_directories(sockets_);
    fs::create_directories(attempt_ + "/output");
  }
  void TearDown() override {
    for (const int fd : listening_) ::close(fd);
    fs::remove_all(folder_);
  }
  void listen_at(const std::string& path, int backlog = 4) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0) << path;
    ASSERT_EQ(::listen(fd, backlog), 0);
    listening_.push_back(fd);
  }
  // "": it is connected to.
  std::string refusal(const std::string& path) {
    const Result<int> made = connect_task_socket({attempt_, sockets_}, path);
    if (!made.ok()) return made.error().code + ": " + made.error().message;
    ::close(*made);
    return "";
  }
  bool says(const std::string& path, const std::string& what) {
    const std::string said = refusal(path);
    EXPECT_NE(said.find(what), std::string::npos) << path << ": " << said;
    return said.find(what) != std::string::npos;
  }

  std::string folder_;
  std::string attempt_;
  std::string sockets_;
  std::vector<int> listening_;
};

TEST_F(TaskSocketTest, IsReachedInItsDirectoryAndInTheWorkingDirectory) {
  listen_at(sockets_ + "/app");
  listen_at(attempt_ + "/output/own");
  EXPECT_EQ(refusal("app"), "");
  EXPECT_EQ(refusal("./app"), "");
  EXPECT_EQ(refusal(sockets_ + "/app"), "");
  EXPECT_EQ(refusal(attempt_ + "/output/own"), "");
  EXPECT_EQ(refusal("../output/own"), "");
  EXPECT_TRUE(find_task_socket({attempt_, sockets_}, "app").ok());
  EXPECT_EQ(find_task_socket({attempt_, sockets_}, "other").error().code, "no_such_socket");
}

TEST_F(TaskSocketTest, PathsThatLeadOutAreNotFollowed) {
  listen_at(folder_ + "/outside");
  fs::create_symlink(folder_ + "/outside", sockets_ + "/link");
  fs::create_symlink(folder_, sockets_ + "/away");
  fs::create_symlink("../..", sockets_ + "/up");
  EXPECT_TRUE(says("link", "there is a link in the path"));
  EXPECT_TRUE(says("away/outside", "there is a link in the path"));
  EXPECT_TRUE(says("up/outside", "there is a link in the path"));
  EXPECT_TRUE(says("../../outside", "leads out of the task's directory"));
  EXPECT_TRUE(says(folder_ + "/outside", "leads out of the task's directory"));
  EXPECT_TRUE(says(attempt_ + "/../outside", "leads out of the task's directory"));
  EXPECT_TRUE(says(attempt_, "leads out of the task's directory"));
}

TEST_F(TaskSocketTest, WhatIsNoSocketOrNotThereIsNamed) {
  std::ofstream(sockets_ + "/file") << "text";
  EXPECT_TRUE(says("file", "is not a socket"));
  EXPECT_TRUE(says("", "is not a socket"));
  EXPECT_TRUE(says("nothing", "No such file"));
  EXPECT_TRUE(says(std::string(5000, 'x'), "too long"));
  EXPECT_EQ(connect_task_socket({folder_ + "/8.1", folder_ + "/8.1/sockets"}, "app").error().code,
            "no_such_socket");
}

TEST_F(TaskSocketTest, OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  listen_at(sockets_ + "/app");
  ASSERT_EQ(::chown(sockets_.c_str(), 61001, 61001), 0);
  EXPECT_TRUE(says("app", "not_yours"));
  ASSERT_EQ(::chown((sockets_ + "/app").c_str(), 61001, 61001), 0);
  EXPECT_EQ(refusal("app"), "");
}

TEST_F(TaskSocketTest, WhoAcceptsNothingIsBusyAndWhoIsGoneDoesNotAnswer) {
  listen_at(sockets_ + "/app", 0);
  const Result<int> first = connect_task_socket({attempt_, sockets_}, "app");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(says("app", "busy: "));
  ::close(*first);
  ::close(listening_.back());
  listening_.pop_back();
  EXPECT_TRUE(says("app", "nobody answers"));
}

}  // namespace
}  // namespace dove::agent
