// RunnerTestBed: one task at a time under a runner of plain processes, of containers, or of
// simulated tasks (NullRunner). For tests only.
//
// A container's image is a directory with busybox alone; the test's directory is a volume that it
// sees under the same name. A test that cannot run here is skipped, with the reason.
#pragma once

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "agent/containers/container_runner.h"
#include "agent/session/lease.h"
#include "agent/tasks/null_runner.h"
#include "agent/tasks/process_runner.h"
#include "agent/tasks/shim_test_bed.h"

namespace dove::agent {

enum class RunnerKind { kProcess, kContainer, kNull };

class RunnerTestBed : public ShimTestBed {
 protected:
  explicit RunnerTestBed(RunnerKind kind = RunnerKind::kProcess)
      : contained_(kind == RunnerKind::kContainer), null_(kind == RunnerKind::kNull) {}

  void SetUp() override {
    ShimTestBed::SetUp();
    if (contained_ && !make_image()) return;
    Result<LeaseWriter> lease = LeaseWriter::open(root_ + "/lease");
    ASSERT_TRUE(lease.ok());
    lease_.emplace(std::move(lease).value());
    lease_->renew(boottime_us() + 60'000'000);
    make_runner();
  }
  void TearDown() override {
    task_.reset();
    containers_.reset();
    runner_.reset();
    CgroupRoot::detect(cgroup()).remove();
    ShimTestBed::TearDown();
  }

  static std::string cgroup() { return "dove-test-" + std::to_string(::getpid()); }
  bool limits(const char* what) { return runner_->not_enforced().find(what) == std::string::npos; }

  // False and skipped where no container can run.
  bool make_image() {
    const Result<containers::Runtime> runtime = containers::find_runtime("auto", false, "");
    const char* why = nullptr;
    if (::geteuid() != 0) why = "containers need root";
    if (::access("/bin/busybox", X_OK) != 0) why = "there is no /bin/busybox (busybox-static)";
    if (!runtime.ok()) why = "there is no runc";
    if (why != nullptr) {
      skip(why);
      return false;
    }
    const std::string bin = dir("images/busybox/bin");
    std::filesystem::create_directories(bin);
    std::filesystem::copy_file("/bin/busybox", bin + "/busybox");
    for (const char* name :
         {"sh", "sleep", "setsid", "env", "cat", "head", "tail", "id", "true", "grep", "mkdir",
          "rm", "ls", "test", "dd", "mount", "mknod", "touch"}) {
      std::filesystem::create_symlink("busybox", bin + "/" + name);
    }
    ::chmod(root_.c_str(), 0777);
    return true;
  }
  static void skip(const std::string& why) { GTEST_SKIP() << why; }

  void make_runner(bool limited = false) {
    containers_.reset();
    ProcessRunnerOptions options{shim_, root_, false, cgroup(), limited, 100};
    Result<std::unique_ptr<ProcessRunner>> made = ProcessRunner::make(loop_, options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    runner_ = std::move(made).value();
    if (!contained_) return;
    ContainerRunnerOptions more;
    more.contain_path = DOVE_CONTAIN_PATH;
    more.data_dir = root_;
    more.images = dir("images");
    more.volume_roots = {{root_, "", {}}};
    more.scratch_bytes = 16 << 20;
    more.hostname = "n1";
    more.runtime = runtime_;
    containers_ = std::make_unique<ContainerRunner>(loop_, *runner_, more);
  }
  Runner& runner() {
    if (null_) return null_runner_;
    return containers_ ? static_cast<Runner&>(*containers_) : *runner_;
  }

  TaskPlan plan(const std::string& script, const std::string& name = "task") {
    TaskPlan plan;
    plan.path = dir(name);
    plan.mark = name == "task" ? mark_ : mark_ + name;
    plan.rank = 3;
    plan.argv = {"/bin/sh", "-c", script};
    plan.environment = {{"PATH", "/usr/bin:/bin"}};
    plan.workdir = root_;
    plan.stdout_path = plan.stderr_path = dir("out");
    plan.kill_grace_us = 200'000;
    if (!contained_) return plan;
    plan.container.image = "busybox";
    plan.container.volumes = {Volume{root_, root_, true}};
    plan.container.workdir = root_;
    return plan;
  }
  TaskCallbacks calls() {
    return TaskCallbacks{[this] { ++started_; },
                         [this](TaskEnd end) {
                           ended_.push_back(std::move(end));
                           if (drops_task_) task_.reset();
                         }};
  }
  void start(const TaskPlan& plan) {
    std::optional<Result<void>> prepared;
    runner().prepare(plan.container.image, "", [&](Result<void> done) { prepared = done; });
    ASSERT_TRUE(until([&] { return prepared.has_value(); }));
    Result<std::unique_ptr<RunningTask>> task =
        prepared->ok() ? runner().start(plan, calls()) : prepared->error();
    ASSERT_TRUE(task.ok()) << task.error().message;
    task_ = std::move(task).value();
  }
  // What an agent killed and started again does.
  void adopt(const TaskPlan& plan) {
    task_.reset();
    containers_.reset();
    runner_.reset();
    make_runner();
    TaskPlan known;
    known.path = plan.path;
    known.mark = plan.mark;
    known.rank = plan.rank;
    known.kill_grace_us = plan.kill_grace_us;
    Result<std::unique_ptr<RunningTask>> task = runner().adopt(known, calls());
    ASSERT_TRUE(task.ok()) << task.error().message;
    task_ = std::move(task).value();
  }
  bool until(const std::function<bool()>& done) {
    std::function<void()> tick = [&] {
      ticker_ = loop_.after(std::chrono::milliseconds(2), [&tick] { tick(); });
    };
    tick();
    const bool held = loop_.run_until(done, std::chrono::seconds(30));
    ticker_.cancel();
    return held;
  }
  bool ended() {
    return until([&] { return !ended_.empty(); });
  }
  pid_t shim_pid(const std::string& name = "task") {
    Result<ShimHandle::Adopted> found = ShimHandle::adopt(dir(name));
    EXPECT_TRUE(found.ok());
    return found.ok() ? found->handle.pid() : 0;
  }
  // How many processes of tests' tasks there are, wherever they run.
  int marked() const {
    int count = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
      std::ifstream file(entry.path() / "environ", std::ios::binary);
      std::string text;
      std::getline(file, text, '\1');
      if (text.find("DOVE_TASK_MARK=" + mark_) != std::string::npos) ++count;
    }
    return count;
  }

  const bool contained_;
  const bool null_;
  std::string runtime_ = "auto";
  wire::Loop loop_;
  NullRunner null_runner_{loop_};
  wire::Timer ticker_;
  std::optional<LeaseWriter> lease_;
  std::unique_ptr<ProcessRunner> runner_;
  std::unique_ptr<ContainerRunner> containers_;
  std::unique_ptr<RunningTask> task_;
  bool drops_task_ = true;  // as its holder does
  int started_ = 0;
  std::vector<TaskEnd> ended_;
};

}  // namespace dove::agent
