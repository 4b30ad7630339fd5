#include "agent/aside/side_threads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/aside/linux_user.h"
#include "agent/aside/needs.h"

namespace dove::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Something that does not come back until the test lets it.
class Gate {
 public:
  std::function<void()> wait() const {
    return [open = open_] { open.wait(); };
  }
  void open() { promise_.set_value(); }

 private:
  std::promise<void> promise_;
  std::shared_future<void> open_ = promise_.get_future().share();
};

class SideThreadsTest : public ::testing::Test {
 protected:
  std::function<void()> mark(const std::string& what) {
    return [this, what] { seen_ += what; };
  }
  bool until(const std::string& wanted) {
    return loop_.run_until([&] { return seen_ == wanted; }, seconds(30));
  }

  wire::Loop loop_;
  std::string seen_;
};

TEST_F(SideThreadsTest, ALaneIsInOrder) {
  SideThreads side(loop_, 4);
  for (const char* word : {"a", "b", "c", "d"})
    side.run(
        "one", [] {}, mark(word));
  EXPECT_TRUE(until("abcd"));
}

TEST_F(SideThreadsTest, OneThatHangsHoldsUpItsLaneAlone) {
  Gate gate;
  SideThreads side(loop_, 2);
  side.run("hung", gate.wait(), mark("h"));
  side.run(
      "hung", [] {}, mark("i"));
  side.run(
      "well", [] {}, mark("w"));
  side.run(
      "other", [] {}, mark("o"));
  loop_.run_until([&] { return seen_.size() == 2; }, seconds(30));
  EXPECT_EQ(seen_.find('h'), std::string::npos);
  EXPECT_EQ(seen_.find('i'), std::string::npos);
  gate.open();
  EXPECT_TRUE(loop_.run_until([&] { return seen_.size() == 4; }, seconds(30)));
  EXPECT_EQ(seen_.substr(2), "hi");
}

TEST_F(SideThreadsTest, NoMoreThreadsThanAllowed) {
  Gate gate;
  SideThreads side(loop_, 1);
  side.run("hung", gate.wait(), mark("h"));
  side.run(
      "well", [] {}, mark("w"));
  wire::Timer soon = loop_.after(milliseconds(20), [&] {
    EXPECT_EQ(seen_, "");
    gate.open();
  });
  EXPECT_TRUE(until("hw"));
}

TEST_F(SideThreadsTest, ALimitIsToldOnce) {
  Gate gate;
  SideThreads side(loop_, 2);
  side.run("hung", milliseconds(1), gate.wait(),
           [&](bool in_time) { seen_ += in_time ? "!" : "l"; });
  side.run(
      "well", seconds(60), [] {}, [&](bool in_time) { seen_ += in_time ? "w" : "!"; });
  EXPECT_TRUE(loop_.run_until([&] { return seen_.size() == 2; }, seconds(30)));
  gate.open();
  side.run(
      "hung", [] {}, mark("e"));
  EXPECT_TRUE(loop_.run_until([&] { return seen_.back() == 'e'; }, seconds(30)));
  EXPECT_EQ(seen_.find('!'), std::string::npos) << seen_;
}

#if !defined(__SANITIZE_THREAD__)  // under which the table is shared
// Which descriptors of the loop's thread, and so of a process it forks, are this file.
int held_by_the_loop(const std::string& path) {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    found += std::filesystem::read_symlink(entry.path(), gone) == path ? 1 : 0;
  }
  return found;
}

TEST_F(SideThreadsTest, TheLoopAndTheThreadsHoldNoFilesOfEachOther) {
  const std::string path = ::testing::TempDir() + "side_threads_test." + std::to_string(getpid());
  std::ofstream(path) << "x";
  const int of_loop = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int of_thread = -1;
  int seen_there = 0;
  SideThreads side(loop_, 1);
  side.run(
      "one",
      [&] {
        seen_there = ::fcntl(of_loop, F_GETFD);
        of_thread = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      },
      mark("a"));
  ASSERT_TRUE(until("a"));
  EXPECT_EQ(seen_there, -1) << "it would keep the loop's connections open";
  EXPECT_GE(of_thread, 0);
  EXPECT_EQ(held_by_the_loop(path), 1);
  side.run(
      "one", [&] { ::close(of_thread); }, mark("b"));
  EXPECT_TRUE(until("ab"));
  ::close(of_loop);
  std::filesystem::remove(path);
}
#endif

TEST_F(SideThreadsTest, NobodyWaitsForOneThatHangsAtTheEnd) {
  Gate gate;
  {
    SideThreads side(loop_, 2);
    side.run("hung", gate.wait(), mark("h"));
    side.run(
        "well", [] {}, mark("w"));
  }
  gate.open();
  loop_.run_until([] { return false; }, milliseconds(5));
  EXPECT_EQ(seen_, "") << "nobody is told of what comes after the end";
}

TEST_F(SideThreadsTest, WhoeverStartsWaitsNoLongerThanItSays) {
  Gate gate;
  SideThreads side(loop_, 2);
  EXPECT_TRUE(side.wait("well", seconds(30), mark("w")));
  EXPECT_EQ(seen_, "w");
  EXPECT_FALSE(side.wait("hung", milliseconds(1), gate.wait()));
  EXPECT_TRUE(side.wait("well", seconds(30), mark("x")));
  EXPECT_EQ(seen_, "wx");
  gate.open();
}

// Its files are open in the threads' table: closed by the loop, they would be others.
TEST_F(SideThreadsTest, WhatHasNotBegunIsDroppedByAThread) {
  std::promise<std::thread::id> dropped;
  Gate gate;
  {
    std::shared_ptr<int> held(new int(0), [&dropped](int* it) {
      delete it;
      dropped.set_value(std::this_thread::get_id());
    });
    SideThreads side(loop_, 1);
    side.run("hung", gate.wait(), nullptr);
    side.run(
        "hung", [held = std::move(held)] {}, nullptr);
  }
  EXPECT_NE(dropped.get_future().get(), std::this_thread::get_id());
  gate.open();
}

// It holds timers of the loop, which may be gone before the threads are.
TEST_F(SideThreadsTest, WhatIsToldIsDroppedByTheLoopWhetherItsWorkHasBegunOrNot) {
  std::vector<std::thread::id> dropped;
  const auto told = [&dropped] {
    std::shared_ptr<int> held(new int(0), [&dropped](int* it) {
      delete it;
      dropped.push_back(std::this_thread::get_id());
    });
    return [held = std::move(held)] {};
  };
  Gate gate;
  {
    SideThreads side(loop_, 1);
    side.run("hung", gate.wait(), told());
    side.run(
        "hung", [] {}, told());
  }
  EXPECT_EQ(dropped, std::vector(2, std::this_thread::get_id()));
  gate.open();
}

TEST(MountOfTest, TheLongestThatHoldsThePath) {
  EXPECT_EQ(mount_of("/proc/self/status"), "/proc");
  EXPECT_EQ(mount_of("/proc"), "/proc");
  EXPECT_EQ(mount_of("/procedures"), "/");
  EXPECT_EQ(mount_of("/tmp/../proc/1"), "/proc");
}

const Error kNobody{ErrorKind::kNotFound, "no_linux_user", "nobody", ""};

TEST(LinuxUserTest, IsKnownOnceItWasLookedUp) {
  EXPECT_FALSE(known_linux_user("no-such-user-here"));
  EXPECT_EQ(look_up_linux_user("no-such-user-here").error().code, "no_linux_user");
  ask_of_linux_users([](const std::string& name) {
    if (name != "ann") return Result<LinuxUser>(kNobody);
    return Result<LinuxUser>(LinuxUser{name, "/home/ann", "/bin/sh", 7, 8, {8, 9}});
  });
  EXPECT_FALSE(known_linux_user("ann")) << "nobody has asked";
  EXPECT_TRUE(look_up_linux_user("ann").ok());
  EXPECT_EQ(known_linux_user("ann")->groups.size(), 2u);
  EXPECT_EQ(look_up_linux_user("bob").error().code, "no_linux_user");
  ask_of_linux_users(nullptr);
  EXPECT_FALSE(known_linux_user("ann")) << "another directory";
}

TEST(LinuxUserTest, NotFoundIsNoProofOfSomebodyWhoWasKnown) {
  Result<LinuxUser> answer = LinuxUser{"ann", "/home/ann", "/bin/sh", 7, 8, {}};
  ask_of_linux_users([&answer](const std::string&) { return answer; });
  EXPECT_TRUE(look_up_linux_user("ann").ok());
  answer = kNobody;
  EXPECT_EQ(look_up_linux_user("ann").error().code, kUsers_away);
  EXPECT_EQ(known_linux_user("ann")->uid, 7u) << "for what runs";
  EXPECT_EQ(look_up_linux_user("bob").error().code, "no_linux_user");
  ask_of_linux_users(nullptr);
}

TEST(NeedsTest, ADirectoryThatIsNotThereIsNamed) {
  Needs needs;
  needs.node = "n7";
  needs.workdir = "/no/such/place";
  const Result<void> met = meet(needs);
  ASSERT_FALSE(met.ok());
  EXPECT_EQ(met.error().code, "no_workdir");
  EXPECT_NE(met.error().message.find("/no/such/place does not exist on node n7"),
            std::string::npos);
  needs.workdir = "/tmp";
  EXPECT_TRUE(meet(needs).ok());
  // Somebody's link in place of the directory that all jobs' own are in.
  const std::string shared = testing::TempDir() + "shared";
  std::filesystem::remove_all(shared);
  std::filesystem::create_directories(shared + "/elsewhere");
  std::filesystem::create_directory_symlink("elsewhere", shared + "/checkpoints");
  ask_of_linux_users([](const std::string& name) {
    return LinuxUser{name, "/", "/bin/sh", geteuid(), getegid(), {}};
  });
  needs.linux_user = "ann";
  needs.shared_places = {shared + "/checkpoints/1"};
  EXPECT_EQ(meet(needs).error().code, "place_not_guarded");
  std::filesystem::remove(shared + "/checkpoints");
  EXPECT_TRUE(meet(needs).ok());
  EXPECT_TRUE(std::filesystem::is_directory(shared + "/checkpoints/1"));
  ask_of_linux_users(nullptr);
  std::filesystem::remove_all(shared);
}

}  // namespace
}  // namespace dove::agent
