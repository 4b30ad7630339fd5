#include "agent/tasks/shim_handle.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "agent/session/lease.h"
#include "agent/tasks/shim_test_bed.h"

namespace dove::agent {
namespace {

class ShimTest : public ShimTestBed {};

TEST_F(ShimTest, RunsACommandInItsDirectoryWithItsEnvironmentAlone) {
  ShimConfig config = shell("pwd; env | grep -v ^_ | sort; umask; exit 3");
  config.environment.emplace_back("GREETING", "two words\nand a line");
  config.umask = 027;
  const ShimStatus status = run(config);
  EXPECT_EQ(status.record.exit_code, 3);
  EXPECT_EQ(status.record.exit_signal, 0);
  EXPECT_EQ(status.record.flags, 0u);
  EXPECT_GT(status.record.started_boottime_us, 0);
  EXPECT_GE(status.record.ended_boottime_us, status.record.started_boottime_us);
  EXPECT_GT(status.record.max_rss_bytes, 0);
  EXPECT_EQ(read("out"), root_ + "\nDOVE_TASK_MARK=" + mark_ +
                             "\nGREETING=two words\nPATH=/usr/bin:/bin\nPWD=" + root_ +
                             "\nand a line\n0027\n");
}

TEST_F(ShimTest, TellsTheTaskItsProcessIdWhereAsked) {
  ShimConfig config = shell("[ $SLURM_TASK_PID = $$ ] && echo same");
  config.environment.emplace_back("SLURM_TASK_PID", "");
  run(config);
  EXPECT_EQ(read("out"), "same\n");
}

TEST_F(ShimTest, SearchesThePathOfTheTask) {
  ShimConfig config = shell("");
  config.argv = {"true"};
  EXPECT_EQ(run(config).record.start_errno, 0);
}

TEST_F(ShimTest, TellsTheSignalThatEndedTheTask) {
  const ShimStatus status = run(shell("kill -USR1 $$"));
  EXPECT_EQ(status.record.exit_signal, SIGUSR1);
  EXPECT_EQ(status.record.stop_signal, 0);
  EXPECT_FALSE(status.killed_by_agent());
}

TEST_F(ShimTest, AStartThatFailsIsNoExitCode) {
  ShimConfig config = shell("");
  config.argv = {"/no/such/program"};
  const ShimStatus status = run(config);
  EXPECT_EQ(status.record.start_errno, ENOENT);
  EXPECT_EQ(status.start_error, "cannot execute /no/such/program: No such file or directory");
  EXPECT_EQ(status.record.started_boottime_us, 0);
}

TEST_F(ShimTest, NamesTheFileThatCannotBeOpened) {
  ShimConfig config = shell("true");
  std::ofstream(root_ + "/plain") << "x";
  config.stdout_path = root_ + "/plain/out";
  EXPECT_EQ(run(config).start_error,
            "cannot open the output file " + root_ + "/plain/out: Not a directory");
}

TEST_F(ShimTest, MakesTheDirectoriesOfItsOutput) {
  ShimConfig config = shell("echo out; echo err >&2");
  config.umask = 027;
  config.stdout_path = root_ + "/logs/7/out";
  config.stderr_path = root_ + "/logs/err";
  run(config);
  EXPECT_EQ(read("logs/7/out"), "out\n");
  EXPECT_EQ(read("logs/err"), "err\n");
  EXPECT_EQ(std::filesystem::status(root_ + "/logs/7").permissions(), std::filesystem::perms(0750));
}

TEST_F(ShimTest, DirectoriesOfItsOutputAreMadeByTheTasksUserAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  std::filesystem::create_directory(root_ + "/theirs");
  ::chmod((root_ + "/theirs").c_str(), 0755);
  std::filesystem::create_directory(root_ + "/own");
  ASSERT_EQ(::chown((root_ + "/own").c_str(), 61001, 61001), 0);
  std::filesystem::create_directory_symlink("../theirs", root_ + "/own/link");
  ShimConfig config = shell("true");
  config.uid = config.gid = 61001;
  config.workdir = root_ + "/own";
  config.stderr_path = root_ + "/own/new/err";
  config.stdout_path = root_ + "/own/link/made/out";
  EXPECT_EQ(run(config).start_error,
            "cannot open the output file " + config.stdout_path + ": Permission denied");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/theirs/made"));
  config.stdout_path = config.stderr_path;
  ShimHandle again = spawn(config, "again");
  EXPECT_EQ(end_of(again, "again").record.start_errno, 0);
  struct stat made {};
  ASSERT_EQ(::stat((root_ + "/own/new").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 61001u);
}

// A bit of each byte of what it says: how the task ended is what it was, or is not known.
TEST_F(ShimTest, DamageToItsReportIsNotBelieved) {
  ShimHandle task = spawn(shell("exit 7"), "task");
  const ShimStatus ended = end_of(task, "task");
  ASSERT_EQ(ended.record.exit_code, 7);
  const std::string path = root_ + "/task";
  const std::string whole = read("task");
  int known = 0;
  for (std::size_t at = whole.size() - shim::kReportBytes; at < whole.size(); ++at) {
    std::string text = whole;
    text[at] = static_cast<char>(text[at] ^ (1 << at % 8));
    std::ofstream(path, std::ios::binary) << text;
    const auto status = read_shim_status(path);
    if (!status.ok() || !status->has_value()) continue;
    ++known;
    EXPECT_EQ((*status)->record.exit_code, 7) << at;
    EXPECT_EQ((*status)->record.exit_signal, 0) << at;
    EXPECT_EQ((*status)->record.cpu_user_us, ended.record.cpu_user_us) << at;
  }
  EXPECT_GT(known, 0) << "what is behind the report does no harm";
}

TEST_F(ShimTest, NamesTheWorkingDirectoryThatIsNot) {
  ShimConfig config = shell("true");
  config.workdir = root_ + "/nowhere";
  EXPECT_EQ(run(config).start_error,
            "cannot enter the working directory " + root_ + "/nowhere: No such file or directory");
}

TEST_F(ShimTest, CpusThatDoNotExistFailTheStart) {
  ShimConfig config = shell("true");
  config.cpus = {9'000};
  EXPECT_EQ(run(config).record.start_errno, EINVAL);
}

TEST_F(ShimTest, BindsToItsCpusAndLimits) {
  ShimConfig config = shell("grep Cpus_allowed_list /proc/self/status; ulimit -n; ulimit -c");
  config.cpus = {0};
  config.rlimits = {{RLIMIT_NOFILE, 77, 77}};
  run(config);
  EXPECT_EQ(read("out"), "Cpus_allowed_list:\t0\n77\n0\n");
}

TEST_F(ShimTest, TheTaskHasNoDescriptorsAndSignalsOfTheShim) {
  // The shell, its three files, and the directory that ls reads.
  run(shell("ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  EXPECT_TRUE(read("out").starts_with("0 1 2 3 SigBlk:\t0000000000000000\nSigIgn:\t"));
  EXPECT_TRUE(read("out").ends_with("0000000\n")) << "but for 29 and up: glibc keeps 32 and 33";
}

TEST_F(ShimTest, AppendsOrTruncates) {
  std::ofstream(dir("out")) << "before\n";
  ShimConfig config = shell("echo after");
  config.append = true;
  run(config);
  EXPECT_EQ(read("out"), "before\nafter\n");
  config.append = false;
  ShimHandle again = spawn(config, "again");
  end_of(again, "again");
  EXPECT_EQ(read("out"), "after\n");
}

TEST_F(ShimTest, AnIgnoredStopBecomesAKill) {
  ShimConfig config = shell("trap '' TERM; echo $$ > pid; while :; do sleep 1; done");
  config.kill_grace_ms = 150;
  ShimHandle handle = spawn(config);
  const pid_t pid = pid_in("pid");
  handle.stop();
  const ShimStatus status = end_of(handle);
  EXPECT_EQ(status.record.exit_signal, SIGKILL);
  EXPECT_EQ(status.record.stop_signal, SIGKILL);
  EXPECT_TRUE(status.killed_by_agent());
  EXPECT_FALSE(alive(pid));
}

TEST_F(ShimTest, AStopLetsTheTaskTidyUp) {
  ShimConfig config =
      shell("trap 'echo bye; exit 7' TERM; echo x > up; while :; do sleep 0.01; done");
  ShimHandle handle = spawn(config);
  ASSERT_TRUE(wait_until([&] { return read("up") == "x\n"; }));
  handle.stop();
  const ShimStatus status = end_of(handle);
  EXPECT_EQ(status.record.exit_code, 7);
  EXPECT_EQ(status.record.stop_signal, SIGTERM);
  EXPECT_TRUE(read("out").ends_with("bye\n"));
}

TEST_F(ShimTest, SaysWhoStoppedWhatRan) {
  ShimHandle asked = spawn(shell("sleep 60"), "asked");
  asked.stop();
  ShimStatus status = end_of(asked, "asked");
  EXPECT_TRUE(status.stopped_running());
  EXPECT_FALSE(status.stopped_by_others());

  ShimHandle other = spawn(shell("sleep 60"), "other");
  ::kill(other.pid(), SIGTERM);
  status = end_of(other, "other");
  EXPECT_TRUE(status.stopped_running());
  EXPECT_TRUE(status.stopped_by_others());

  ShimHandle killed = spawn(shell("sleep 60"), "killed");
  killed.signal(SIGKILL);
  EXPECT_FALSE(end_of(killed, "killed").stopped_running()) << "which is what somebody asked for";
}

TEST_F(ShimTest, ForwardsSignalsToTheProcessGroup) {
  ShimConfig config =
      shell("trap 'exit 9' USR2; trap 'echo one' USR1; echo x > up; while :; do sleep 0.01; done");
  ShimHandle handle = spawn(config);
  ASSERT_TRUE(wait_until([&] { return read("up") == "x\n"; }));
  handle.signal(SIGUSR2);
  const ShimStatus status = end_of(handle);
  EXPECT_EQ(status.record.exit_code, 9);
  EXPECT_FALSE(status.killed_by_agent());
}

TEST_F(ShimTest, WhatTheTaskLeavesBehindIsEnded) {
  // A background child; one in a session of its own; one whose parent is gone, deaf to SIGTERM,
  // and without the mark.
  ShimConfig config = shell(
      "sh -c 'echo $$ > a; exec sleep 100' & setsid sh -c 'echo $$ > b; exec sleep 100' & "
      "(setsid env -i /bin/sh -c 'trap \"\" TERM; echo $$ > c; while :; do /bin/sleep 1; done' &) "
      "; "
      "while ! [ -s a -a -s b -a -s c ]; do sleep 0.01; done; exit 5");
  config.kill_grace_ms = 200;
  const ShimStatus status = run(config);
  EXPECT_EQ(status.record.exit_code, 5);
  EXPECT_FALSE(status.survivors());
  for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(alive(pid_in(name))) << name;
}

TEST_F(ShimTest, TheTaskDiesWithItsShim) {
  ShimHandle handle = spawn(shell("echo $$ > pid; sleep 100 & echo $! > child; wait"));
  const pid_t pid = pid_in("pid");
  const pid_t child = pid_in("child");
  ::kill(handle.pid(), SIGKILL);
  ASSERT_TRUE(handle.reap(10'000));
  EXPECT_TRUE(wait_until([&] { return !alive(pid); }));
  Result<ShimHandle::Adopted> adopted = ShimHandle::adopt(dir("task"));
  ASSERT_TRUE(adopted.ok());
  EXPECT_EQ(adopted->state, ShimHandle::Adopted::State::kGone);
  const SweepResult swept = sweep({{mark_, 0}}, std::chrono::seconds(5));
  EXPECT_TRUE(swept.clean);
  EXPECT_GE(swept.found, 1);
  EXPECT_FALSE(alive(child));
}

TEST_F(ShimTest, ARestartedAgentFindsTheTaskByItsDirectory) {
  pid_t pid = 0;
  {
    const ShimHandle forgotten = spawn(shell("echo $$ > pid; sleep 100"));
    pid = forgotten.pid();
  }
  const pid_t task = pid_in("pid");
  Result<ShimHandle::Adopted> adopted = ShimHandle::adopt(dir("task"));
  ASSERT_TRUE(adopted.ok()) << adopted.error().message;
  ASSERT_EQ(adopted->state, ShimHandle::Adopted::State::kRunning);
  EXPECT_EQ(adopted->handle.pid(), pid);
  adopted->handle.kill();
  const ShimStatus status = end_of(adopted->handle);
  EXPECT_EQ(status.record.exit_signal, SIGKILL);
  EXPECT_FALSE(alive(task));
  adopted = ShimHandle::adopt(dir("task"));
  ASSERT_TRUE(adopted.ok());
  EXPECT_EQ(adopted->state, ShimHandle::Adopted::State::kEnded);
  EXPECT_EQ(adopted->status.record.task_pid, task);
}

TEST_F(ShimTest, AdoptsWhileTheShimIsJustStarting) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "early" + std::to_string(i);
    const ShimHandle handle = spawn(shell("sleep 100"), name);
    Result<ShimHandle::Adopted> adopted = ShimHandle::adopt(dir(name));
    ASSERT_TRUE(adopted.ok()) << adopted.error().message;
    EXPECT_EQ(adopted->handle.pid(), handle.pid());
    adopted->handle.kill();
    EXPECT_TRUE(adopted->handle.reap(10'000));
  }
}

TEST_F(ShimTest, ATaskDirectoryHasOneTask) {
  run(shell("true"));
  const Result<ShimHandle> again = ShimHandle::spawn(shell("true"), dir("task"), {shim_, -1});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::kConflict);
}

TEST_F(ShimTest, AShimThatIsNotThereLeavesNoTask) {
  const Result<ShimHandle> handle = ShimHandle::spawn(shell("true"), dir("task"), {"/no/shim", -1});
  ASSERT_FALSE(handle.ok());
  EXPECT_EQ(ShimHandle::adopt(dir("task"))->state, ShimHandle::Adopted::State::kGone);
}

TEST_F(ShimTest, AHeldTaskStartsWhenTold) {
  ShimConfig config = shell("echo started");
  config.hold = true;
  { const ShimHandle forgotten = spawn(config); }
  ASSERT_TRUE(wait_until([&] { return *read_shim_held(dir("task")); }));
  Result<ShimHandle::Adopted> adopted = ShimHandle::adopt(dir("task"));
  ASSERT_TRUE(adopted.ok());
  ASSERT_EQ(adopted->state, ShimHandle::Adopted::State::kHeld);
  EXPECT_EQ(read("out"), "");
  adopted->handle.go();
  adopted->handle.go();
  EXPECT_EQ(end_of(adopted->handle).record.exit_code, 0);
  EXPECT_EQ(read("out"), "started\n");
}

TEST_F(ShimTest, AHeldTaskCanBeStoppedAndWasNeverStarted) {
  ShimConfig config = shell("echo started");
  config.hold = true;
  ShimHandle handle = spawn(config);
  handle.stop();
  const ShimStatus status = end_of(handle);
  EXPECT_TRUE(status.killed_by_agent());
  EXPECT_EQ(status.record.started_boottime_us, 0);
  EXPECT_EQ(read("out"), "");
}

TEST_F(ShimTest, TheChannelTellsWhatHappensInOrderAndSurvivesTheAgent) {
  Result<ShimChannel> channel = ShimChannel::open(dir("channel"));
  ASSERT_TRUE(channel.ok());
  channel_fd_ = channel->fd();
  ShimConfig config = shell("while ! [ -e end ]; do sleep 0.01; done; exit 4");
  config.hold = true;
  ShimHandle handle = spawn(config);
  std::vector<shim::ShimRecord> records;
  const auto arrived = [&](ShimChannel& from, std::size_t count) {
    return wait_until([&] {
      for (const shim::ShimRecord& record : from.read()) records.push_back(record);
      return records.size() >= count;
    });
  };
  ASSERT_TRUE(arrived(*channel, 1));
  handle.go();
  ASSERT_TRUE(arrived(*channel, 2));
  { const ShimChannel closed = std::move(*channel); }
  std::ofstream(dir("end")) << "";
  EXPECT_EQ(end_of(handle).record.exit_code, 4);
  Result<ShimChannel> later = ShimChannel::open(dir("channel"));
  ASSERT_TRUE(later.ok());
  EXPECT_EQ(records[0].kind, shim::kHeldRecord);
  EXPECT_EQ(records[1].kind, shim::kStartedRecord);
  EXPECT_EQ(records[1].tag, handle.tag());
  EXPECT_EQ(records[1].shim_pid, handle.pid());
}

TEST_F(ShimTest, TheEndedRecordComesWhenTheStatusIsThere) {
  Result<ShimChannel> channel = ShimChannel::open(dir("channel"));
  ASSERT_TRUE(channel.ok());
  channel_fd_ = channel->fd();
  ShimHandle handle = spawn(shell("exit 6"));
  std::optional<shim::ShimRecord> ended;
  ASSERT_TRUE(wait_until([&] {
    for (const shim::ShimRecord& record : channel->read()) {
      if (record.kind == shim::kEndedRecord) ended = record;
    }
    return ended.has_value();
  }));
  const auto status = read_shim_status(dir("task"));
  ASSERT_TRUE(status.ok() && status.value());
  EXPECT_EQ(ended->exit_code, 6);
  EXPECT_EQ(status.value()->record.ended_boottime_us, ended->ended_boottime_us);
  EXPECT_TRUE(handle.reap(10'000));
}

TEST_F(ShimTest, RunsAsTheTasksUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chown(root_.c_str(), 65534, 65534), 0);
  ShimConfig config = shell("id -u; id -g; id -G; echo x 2>/dev/null > /root/x || echo refused");
  config.uid = 65534;
  config.gid = 65534;
  config.groups = {65534, 100};
  EXPECT_EQ(run(config).record.exit_code, 0);
  EXPECT_EQ(read("out"), "65534\n65534\n65534 100\nrefused\n");
  struct stat facts {};
  ASSERT_EQ(::stat(dir("out").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_uid, 65534u);
}

TEST_F(ShimTest, OutputIsOpenedWithTheRightsOfTheTasksUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  std::ofstream(dir("secret")) << "root's\n";
  ::chmod(dir("secret").c_str(), 0600);
  ShimConfig config = shell("true");
  config.uid = 65534;
  config.stdout_path = dir("secret");
  EXPECT_EQ(run(config).record.start_errno, EACCES);
  EXPECT_EQ(read("secret"), "root's\n");
}

TEST_F(ShimTest, RotatedOutputIsBoundedAndWhole) {
  ShimConfig config = shell("i=0; while [ $i -lt 1000 ]; do echo line $i; i=$((i+1)); done");
  config.rotate_bytes = 4096;
  config.rotate_keep = 2;
  EXPECT_EQ(run(config).record.flags, 0u);
  EXPECT_FALSE(std::filesystem::exists(dir("out.3")));
  const std::string all = read("out.2") + read("out.1") + read("out");
  for (const char* name : {"out", "out.1", "out.2"}) {
    EXPECT_LE(read(name).size(), 4096u);
    EXPECT_TRUE(read(name).starts_with("line "));
  }
  EXPECT_GT(all.size(), 8000u);
  EXPECT_TRUE(all.ends_with("line 998\nline 999\n"));
}

TEST_F(ShimTest, AHeldInputEndsWhenToldAndNotWithItsWriter) {
  ASSERT_EQ(::mkfifo(dir("in").c_str(), 0600), 0);
  ShimConfig config = shell("echo up > up; cat; echo over");
  config.stdin_path = dir("in");
  config.holds_input = true;
  const int writer = ::open(dir("in").c_str(), O_RDWR | O_CLOEXEC);
  ShimHandle handle = spawn(config);
  ASSERT_TRUE(wait_until([&] { return read("up") == "up\n"; }));
  ASSERT_EQ(::write(writer, "given\n", 6), 6);
  ::close(writer);
  ASSERT_TRUE(wait_until([&] { return read("out") == "given\n"; }));
  EXPECT_FALSE(handle.reap(50));
  handle.end_input();
  EXPECT_EQ(end_of(handle).record.exit_code, 0);
  EXPECT_EQ(read("out"), "given\nover\n");
}

TEST_F(ShimTest, TheOutputDirectoryComesWithTheFirstByte) {
  ShimConfig config = shell("while ! [ -e go ]; do sleep 0.01; done; echo more >&2");
  config.rotate_bytes = 4096;
  config.output_dir = dir("output");
  config.stdout_path = dir("output/r0.stdout");
  config.stderr_path = dir("output/r0.stderr");
  config.umask = 077;
  ShimHandle handle = spawn(config);
  EXPECT_FALSE(std::filesystem::exists(dir("output")));
  std::ofstream(dir("go")) << "";
  EXPECT_EQ(end_of(handle).record.flags, 0u);
  EXPECT_EQ(read("output/r0.stderr"), "more\n");
  EXPECT_FALSE(std::filesystem::exists(dir("output/r0.stdout")));
  struct stat facts {};
  ASSERT_EQ(::stat(dir("output").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0700u);
}

TEST_F(ShimTest, TheOutputDirectoryIsThereForATaskThatWritesItsFileItself) {
  ShimConfig config = shell("echo here");
  config.output_dir = dir("output");
  config.stdout_path = config.stderr_path = dir("output/s1.0.stdout");
  if (::geteuid() == 0) config.uid = config.gid = 65534;
  EXPECT_EQ(run(config).record.start_errno, 0);
  EXPECT_EQ(read("output/s1.0.stdout"), "here\n");
}

TEST_F(ShimTest, AnOutputDirectoryThatCannotBeMadeLosesOutputAndSaysSo) {
  ShimConfig config = shell("echo lost");
  config.rotate_bytes = 4096;
  config.output_dir = dir("missing/output");
  config.stdout_path = dir("missing/output/r0.stdout");
  const ShimStatus status = run(config);
  EXPECT_EQ(status.record.exit_code, 0);
  EXPECT_EQ(status.record.flags, shim::kOutputDropped);
}

TEST_F(ShimTest, ALineLongerThanTheFileIsCut) {
  ShimConfig config = shell("head -c 10000 /dev/zero | tr '\\0' x");
  config.rotate_bytes = 4096;
  config.rotate_keep = 5;
  run(config);
  EXPECT_EQ(read("out").size() + read("out.1").size() + read("out.2").size(), 10'000u);
}

}  // namespace
}  // namespace dove::agent
