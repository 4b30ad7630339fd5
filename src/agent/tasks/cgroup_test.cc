#include "agent/tasks/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>

#include "agent/tasks/shim_test_bed.h"

namespace dove::agent {
namespace {

// On a machine without writable cgroups only the first test says anything.
class CgroupTest : public ShimTestBed {
 protected:
  void SetUp() override {
    ShimTestBed::SetUp();
    cgroups_ = CgroupRoot::detect(fmt::format("dove_test_{}", ::getpid()));
  }
  void TearDown() override {
    const Cgroup group = cgroups_.find({"", "task"});
    group.kill_all(std::chrono::seconds(5));
    group.remove();
    cgroups_.remove();
    ShimTestBed::TearDown();
  }
  bool none() const { return cgroups_.version() == CgroupRoot::Version::kNone; }
  // Whether the limits that tests set can be set here.
  bool limits(const char* what) const {
    return !none() && cgroups_.not_enforced().find(what) == std::string::npos;
  }
  CgroupRoot cgroups_;
};

TEST_F(CgroupTest, SaysWhatIsNotEnforced) {
  if (none()) {
    EXPECT_NE(cgroups_.not_enforced().find("no writable cgroup"), std::string::npos);
    EXPECT_EQ(cgroups_.create({"", "task"}, {}).error().kind, ErrorKind::kUnavailable);
  } else {
    EXPECT_TRUE(cgroups_.create({"", "task"}, {}).ok());
    EXPECT_TRUE(cgroups_.find({"", "task"}).remove());
  }
}

TEST_F(CgroupTest, NothingEscapesIt) {
  if (none()) GTEST_SKIP() << cgroups_.not_enforced();
  Result<Cgroup> group = cgroups_.create({"", "task"}, {});
  ASSERT_TRUE(group.ok()) << group.error().message;
  // Without the mark, in a session of its own, and without a parent.
  ShimConfig config =
      shell("(setsid env -i /bin/sh -c 'echo $$ > pid; exec /bin/sleep 100' &) ; sleep 100");
  group->add_to(config);
  ShimHandle handle = spawn(config);
  const pid_t pid = pid_in("pid");
  EXPECT_FALSE(group->remove());
  ::kill(handle.pid(), SIGKILL);
  ASSERT_TRUE(handle.reap(10'000));
  sweep(mark_);
  EXPECT_TRUE(alive(pid));
  EXPECT_TRUE(cgroups_.find({"", "task"}).kill_all(std::chrono::seconds(5)));
  EXPECT_TRUE(wait_until([&] { return !alive(pid); }));
  EXPECT_TRUE(group->remove());
}

TEST_F(CgroupTest, TheShimEndsItsCgroup) {
  if (none()) GTEST_SKIP() << cgroups_.not_enforced();
  Result<Cgroup> group = cgroups_.create({"", "task"}, {});
  ASSERT_TRUE(group.ok()) << group.error().message;
  ShimConfig config = shell("echo $$ > pid; sleep 100");
  group->add_to(config);
  ShimHandle handle = spawn(config);
  pid_in("pid");
  handle.kill();
  EXPECT_EQ(end_of(handle).record.exit_signal, SIGKILL);
  EXPECT_TRUE(group->remove());
}

TEST_F(CgroupTest, MemoryIsLimitedAndItsEndIsTold) {
  if (!limits("memory")) GTEST_SKIP() << cgroups_.not_enforced();
  Result<Cgroup> group = cgroups_.create({"", "task"}, {32 << 20, 0, {}, {}});
  ASSERT_TRUE(group.ok()) << group.error().message;
  ShimConfig config = shell("ulimit -v 2000000; exec tail -n 1 /dev/zero");
  group->add_to(config);
  const ShimStatus status = run(config);
  EXPECT_EQ(status.record.exit_signal, SIGKILL);
  EXPECT_TRUE(status.out_of_memory());
  EXPECT_FALSE(status.killed_by_agent());
  EXPECT_GT(group->memory_peak_bytes(), 16 << 20);
  EXPECT_EQ(group->memory_limit_bytes(), 32 << 20);
}

TEST_F(CgroupTest, TasksOfAStepShareItsMemory) {
  if (!limits("memory")) GTEST_SKIP() << cgroups_.not_enforced();
  CgroupLimits limits{64 << 20, 0, {}, {}};
  limits.step_bytes = 32 << 20;
  const Result<Cgroup> group = cgroups_.create({"7.1", "task", "step0"}, limits);
  const Result<Cgroup> script = cgroups_.create({"7.1", "script"}, {64 << 20, 0, {}, {}});
  ASSERT_TRUE(group.ok() && script.ok());
  EXPECT_EQ(group->memory_limit_bytes(), 32 << 20);
  EXPECT_EQ(script->memory_limit_bytes(), 64 << 20);
  ShimConfig config = shell("ulimit -v 2000000; exec tail -n 1 /dev/zero");
  group->add_to(config);
  EXPECT_TRUE(run(config).out_of_memory());
  EXPECT_TRUE(group->remove());
  EXPECT_TRUE(cgroups_.find({"7.1", "step0"}).remove()) << "it went with its task";
  EXPECT_TRUE(script->remove());
  EXPECT_TRUE(cgroups_.find({"", "7.1"}).remove());
}

TEST_F(CgroupTest, TasksShareTheMemoryOfTheirAttempt) {
  if (!limits("memory")) GTEST_SKIP() << cgroups_.not_enforced();
  Result<Cgroup> group = cgroups_.create({"7.1", "task"}, {32 << 20, 0, {}, {}});
  Result<Cgroup> other = cgroups_.create({"7.1", "other"}, {32 << 20, 0, {}, {}});
  ASSERT_TRUE(group.ok() && other.ok());
  EXPECT_EQ(group->memory_limit_bytes(), 32 << 20);
  ShimConfig config = shell("ulimit -v 2000000; exec tail -n 1 /dev/zero");
  group->add_to(config);
  EXPECT_TRUE(run(config).out_of_memory());
  // Nothing of the other task was killed, and it does not say so.
  ShimConfig light = shell("exit 0");
  light.stdout_path = light.stderr_path = "";
  other->add_to(light);
  ShimHandle handle = spawn(light, "light");
  EXPECT_FALSE(end_of(handle, "light").out_of_memory());
  EXPECT_TRUE(group->remove());
  EXPECT_FALSE(cgroups_.find({"", "7.1"}).remove()) << "the other task is in it";
  EXPECT_TRUE(other->remove());
  EXPECT_TRUE(cgroups_.find({"", "7.1"}).remove()) << "it is gone";
}

// A runtime makes the other's group in there, at a moment that nobody here sees.
TEST_F(CgroupTest, GroupsAboveStayWhereAnotherTaskIsAboutToBegin) {
  if (!limits("memory")) GTEST_SKIP() << cgroups_.not_enforced();
  const CgroupName first{"7.1", "first", "step0"};
  EXPECT_EQ(first.shared_with({"7.1", "second", "step0"}), 2U);
  EXPECT_EQ(first.shared_with({"7.1", "second", "step1"}), 1U);
  EXPECT_EQ(first.shared_with({"8.1", "second", "step0"}), 0U);
  EXPECT_EQ(first.shared_with({"", "second"}), 0U);
  CgroupLimits limits;
  limits.memory_bytes = 64 << 20;
  limits.step_bytes = 32 << 20;
  Result<Cgroup> group = cgroups_.create(first, limits);
  ASSERT_TRUE(group.ok()) << group.error().message;
  const auto step = [this] { return cgroups_.find({"7.1", "step0"}).memory_limit_bytes(); };
  const auto attempt = [this] { return cgroups_.find({"", "7.1"}).memory_limit_bytes(); };
  EXPECT_TRUE(group->remove(2));
  EXPECT_EQ(step(), 32 << 20);
  cgroups_.clear(first, 1);
  EXPECT_EQ(step(), 0) << "it is gone";
  EXPECT_EQ(attempt(), 64 << 20);
  cgroups_.clear(first);
  EXPECT_EQ(attempt(), 0);
}

TEST_F(CgroupTest, ProcessesAndCpusAreLimited) {
  if (!limits("processes") || !limits("cpus")) GTEST_SKIP() << cgroups_.not_enforced();
  Result<Cgroup> group = cgroups_.create({"", "task"}, {0, 3, {0}, {0}});
  ASSERT_TRUE(group.ok()) << group.error().message;
  ShimConfig config =
      shell("grep _allowed_list /proc/self/status; sleep 9 & sleep 9 & sleep 9 & sleep 9 & exit 0");
  config.kill_grace_ms = 100;
  group->add_to(config);
  run(config);
  EXPECT_TRUE(read("out").starts_with("Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n"));
  EXPECT_NE(read("out").find("fork"), std::string::npos) << read("out");
}

// Says which files it can open; makes one that it was not given, and cannot open that either.
constexpr char kOpens[] =
    "for f in null random first second; do (: < dev/$f) 2> /dev/null && echo $f; done; "
    "rm -f dev/made; mknod dev/made c 10 237 && ! (: < dev/made) 2> /dev/null && echo made; exit 0";

class DeviceRulesTest : public CgroupTest, public testing::WithParamInterface<bool> {
 protected:
  bool make(const char* name, unsigned major, unsigned minor) const {
    const std::string path = dir("dev/") + name;
    if (::mknod(path.c_str(), S_IFCHR | 0666, makedev(major, minor)) != 0) return false;
    const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    return fd >= 0 && ::close(fd) == 0;
  }
  std::string opened(const Cgroup& group, const std::string& task) {
    ShimConfig config = shell(kOpens);
    group.add_to(config);
    ShimHandle handle = spawn(config, task);
    end_of(handle, task);
    return read("out");
  }
};

TEST_P(DeviceRulesTest, OnlyOwnAndStandardFilesAreOpened) {
  cgroups_ = CgroupRoot::detect(fmt::format("dove_test_{}", ::getpid()), GetParam());
  if (!limits("devices")) GTEST_SKIP() << cgroups_.not_enforced();
  ASSERT_EQ(::mkdir(dir("dev").c_str(), 0777), 0);
  // The kernel's log and its loop devices, which no task has any business with.
  if (!make("null", 1, 3) || !make("random", 1, 8) || !make("first", 1, 11) ||
      !make("second", 10, 237)) {
    GTEST_SKIP() << "device files cannot be made or opened here";
  }
  CgroupLimits limits;
  limits.devices = std::vector<std::string>{dir("dev/fir*"), dir("dev/none"), dir("out")};
  const Result<Cgroup> group = cgroups_.create({"", "task"}, limits);
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_EQ(opened(*group, "one"), "null\nrandom\nfirst\nmade\n");
  // Other rules take the place of the first.
  limits.devices = std::vector<std::string>{dir("dev/second")};
  ASSERT_TRUE(cgroups_.create({"", "task"}, limits).ok());
  EXPECT_EQ(opened(*group, "two"), "null\nrandom\nsecond\n");
  limits.devices = std::vector<std::string>();
  ASSERT_TRUE(cgroups_.create({"", "task"}, limits).ok());
  EXPECT_EQ(opened(*group, "three"), "null\nrandom\nmade\n");
  EXPECT_TRUE(group->remove());
}

INSTANTIATE_TEST_SUITE_P(ByProgramAndByV1, DeviceRulesTest, testing::Bool());

TEST_F(CgroupTest, HugePagesAreThoseOfTheAttemptAndElseNone) {
  if (!limits("huge pages")) GTEST_SKIP() << cgroups_.not_enforced();
  const auto limit_of = [](const Cgroup& group) {
    ShimConfig config;
    group.add_to(config);
    for (const std::string& procs : config.cgroup_procs) {
      const std::filesystem::path attempt =
          std::filesystem::path(procs).parent_path().parent_path();
      for (const char* file : {"hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes"}) {
        std::string text;
        if (std::getline(std::ifstream(attempt / file), text)) return text;
      }
    }
    return std::string("no file");
  };
  CgroupLimits limits;
  limits.huge_pages = BytesByPage{{2 << 20, 8 << 20}};
  const Result<Cgroup> some = cgroups_.create({"7.1", "task"}, limits);
  limits.huge_pages = BytesByPage();
  const Result<Cgroup> none = cgroups_.create({"8.1", "task"}, limits);
  ASSERT_TRUE(some.ok() && none.ok());
  EXPECT_EQ(limit_of(*some), "8388608");
  EXPECT_EQ(limit_of(*none), "0");
  EXPECT_TRUE(some->remove());
  EXPECT_TRUE(none->remove());
}

TEST_F(CgroupTest, ALimitThatCannotBeSetLeavesNoGroup) {
  if (!limits("cpus")) GTEST_SKIP() << cgroups_.not_enforced();
  const Result<Cgroup> group = cgroups_.create({"", "task"}, {0, 0, {9'999}, {}});
  ASSERT_FALSE(group.ok());
  EXPECT_NE(group.error().message.find("cpuset.cpus to 9999"), std::string::npos);
}

}  // namespace
}  // namespace dove::agent
