#include "agent/forward/task_port.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "shim/format.h"

namespace dove::agent {
namespace {

// A socket that listens on a free port of loopback.
int listening() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(::listen(fd, 4), 0);
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size), 0);
  return ntohs(name.sin_port);
}

// A process with a mark that holds a socket; it does nothing else.
class Holder {
 public:
  Holder(const std::string& mark, int fd) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // To itself: open in the new program.
    posix_spawn_file_actions_adddup2(&actions, fd, fd);
    const std::string variable = std::string(shim::kMarkVariable) + "=" + mark;
    char* const environment[] = {const_cast<char*>(variable.c_str()), nullptr};
    char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("600"), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, "/bin/sleep", &actions, nullptr, argv, environment), 0);
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Holder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  pid_t pid_ = 0;
};

// Looks until the process has become the program.
Result<TaskPort> find(const std::vector<std::string>& marks, std::uint16_t port) {
  for (int look = 0; look < 500; ++look) {
    Result<TaskPort> found = find_task_port(marks, port);
    if (found.ok()) return found;
    ::poll(nullptr, 0, 10);
  }
  return find_task_port(marks, port);
}

class TaskPortTest : public testing::Test {
 protected:
  void TearDown() override { ::close(fd_); }
  const std::string mark_ = "task-port-test." + std::to_string(::getpid());
  int fd_ = listening();
  const std::uint16_t port_ = port_of(fd_);
};

TEST_F(TaskPortTest, IsFoundByTheProcessThatHoldsIt) {
  const Holder holder(mark_, fd_);
  const Result<TaskPort> found = find({mark_}, port_);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->listeners.size(), 1u);
  ASSERT_EQ(found->addresses.size(), 1u);
  EXPECT_EQ(found->addresses[0].text(), "127.0.0.1:" + std::to_string(port_));
  EXPECT_TRUE(is_unchanged(*found));
  const Result<int> made = open_in_network(*found, AF_INET);
  ASSERT_TRUE(made.ok());
  const auto* const name = reinterpret_cast<const sockaddr*>(&found->addresses[0].bytes);
  EXPECT_TRUE(::connect(*made, name, found->addresses[0].size) == 0 || errno == EINPROGRESS);
  ::close(*made);
}

TEST_F(TaskPortTest, OfAnotherTaskIsNotFoundAndOwnOnesAreNamed) {
  const Holder other("another-" + mark_, fd_);
  const int own = listening();
  const Holder holder(mark_, own);
  ASSERT_TRUE(find({mark_}, port_of(own)).ok());
  ASSERT_TRUE(find({"another-" + mark_}, port_).ok());
  const Result<TaskPort> found = find_task_port({mark_}, port_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, "nothing_listens");
  EXPECT_NE(found.error().message.find("it listens on " + std::to_string(port_of(own))),
            std::string::npos)
      << found.error().message;
  ::close(own);
}

TEST_F(TaskPortTest, OfAProcessWithoutAMarkIsNotFound) {
  const Result<TaskPort> found = find_task_port({mark_}, port_);  // this process holds it
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("on no port yet"), std::string::npos);
}

TEST_F(TaskPortTest, IsChangedOnceAnotherSocketHoldsIt) {
  Result<TaskPort> found = Error{};
  {
    const Holder holder(mark_, fd_);
    found = find({mark_}, port_);
    ASSERT_TRUE(found.ok());
    TaskPort moved = *found;
    moved.listeners = {1};
    EXPECT_FALSE(is_unchanged(moved));
    moved = *found;
    moved.network += 1;
    EXPECT_FALSE(is_unchanged(moved));
    EXPECT_FALSE(open_in_network(moved, AF_INET).ok());
  }
  EXPECT_FALSE(is_unchanged(*found)) << "its process is gone";
}

}  // namespace
}  // namespace dove::agent
