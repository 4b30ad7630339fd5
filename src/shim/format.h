// The words between the agent and dove-shim: names of configuration keys, of signals, and the
// record the shim sends. No dependencies, so that the shim, which uses no part, can include it.
//
// A task has one file. It begins with the configuration: `key=value` records, each ended by a NUL,
// the first `dove-shim=1`, the last `end=1`; numbers are decimal. After it
// come kReportBytes of zeros, room that the shim fills with lines of `key=value`, so that a full
// disk cannot keep it from saying what became of the task: first kStartedBytes for how it was
// started, then how it ended, each complete when its last line, `end=1`, is there.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>

namespace dove::agent::shim {

// The task's file is locked as long as the shim lives: flock, taken by the agent before it spawns
// and inherited; and a POSIX lock by the shim itself, which tells its pid.
inline constexpr int kReportBytes = 2048;
inline constexpr int kStartedBytes = 512;
inline constexpr const char kHeldLine[] = "held=1";  // in place of how it was started

// The line before `end=1` holds it over all before it, so that damage is not believed.
inline constexpr const char kSum[] = "sum";
constexpr std::int64_t sum_of(const char* text, std::size_t length) {
  std::uint64_t sum = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i < length; ++i) {
    sum = (sum ^ static_cast<unsigned char>(text[i])) * 0x100000001B3u;
  }
  return static_cast<std::int64_t>(sum >> 1);
}

// Keys. `arg`, `env`, `group`, `cpu`, `rlimit` and `cgroup_procs` may repeat.
inline constexpr const char kMagic[] = "dove-shim";
inline constexpr const char kEnd[] = "end";
inline constexpr const char kArg[] = "arg";
inline constexpr const char kEnv[] = "env";  // NAME=VALUE
// A file of NAME=VALUE, each with a NUL behind it, for the environment. Absent: none.
inline constexpr const char kSecrets[] = "secrets";
inline constexpr const char kCwd[] = "cwd";
inline constexpr const char kUid[] = "uid";  // absent: the shim's own user
inline constexpr const char kGid[] = "gid";
inline constexpr const char kGroup[] = "group";
inline constexpr const char kUmask[] = "umask";
inline constexpr const char kTerminal[] = "terminal";  // in place of stdin, stdout and stderr
inline constexpr const char kStdin[] = "stdin";        // absent: /dev/null
inline constexpr const char kHoldsInput[] = "holds_input";
inline constexpr const char kStdout[] = "stdout";
inline constexpr const char kStderr[] = "stderr";
inline constexpr const char kOutputDir[] = "output_dir";  // made when a file in it is
inline constexpr const char kAppend[] = "append";
inline constexpr const char kRotateBytes[] = "rotate_bytes";  // 0: the task writes the file itself
inline constexpr const char kRotateKeep[] = "rotate_keep";
inline constexpr const char kCpu[] = "cpu";
inline constexpr const char kRlimit[] = "rlimit";  // RESOURCE SOFT HARD, -1 = unlimited
inline constexpr const char kKillGraceMs[] = "kill_grace_ms";
inline constexpr const char kLease[] = "lease";  // absent: no fence
inline constexpr const char kLeaseAllowanceMs[] = "lease_allowance_ms";
inline constexpr const char kFenceGraceMs[] = "fence_grace_ms";
inline constexpr const char kCgroupProcs[] = "cgroup_procs";
inline constexpr const char kCgroupKill[] = "cgroup_kill";
inline constexpr const char kCgroupOom[] = "cgroup_oom";
inline constexpr const char kHold[] = "hold";
// The arguments are not the task but bring it up in a container: when they end well, the task is
// the process that this file names, which is the shim's then, and tells on the pipe that it is born
// with (containers/place.h). Its user is the container's business.
inline constexpr const char kPidFile[] = "pid_file";
inline constexpr const char kProgram[] = "program";  // what runs in the container, for messages
// The container is another task's: the process that the file names gathers all of this one's, and
// ends with the last of them.
inline constexpr const char kJoins[] = "joins";

inline constexpr const char kMarkVariable[] = "DOVE_TASK_MARK";
// Where the environment has it, the shim fills in the process id of the task.
inline constexpr const char kPidVariable[] = "SLURM_TASK_PID";

// Descriptors the shim is born with, besides /dev/null as 0, 1 and 2.
inline constexpr int kChannelFd = 3;
inline constexpr int kTaskFd = 4;
inline constexpr int kFirstFreeFd = 5;

// Signals to the shim. It is born with all signals blocked, so none is lost or deadly.
inline constexpr int kStopSignal = SIGTERM;  // stop the task: SIGTERM, grace, SIGKILL
inline constexpr int kGoSignal = SIGUSR1;    // start the held task; repeats do nothing
// Forward the queued value as a signal to the task's process group; SIGKILL ends all of the task.
inline constexpr int kForwardSignal = 40;  // a real-time signal: queued, not merged

inline constexpr int kEndInputSignal = 41;  // holds_input: no more will be written to stdin

// Bits of ShimRecord::flags.
inline constexpr std::uint32_t kFenced = 1;         // ended because the lease ran out
inline constexpr std::uint32_t kKilledByAgent = 2;  // told to stop before the task ended by itself
inline constexpr std::uint32_t kOutOfMemory = 4;    // its cgroup counted an out-of-memory kill
inline constexpr std::uint32_t kSurvivors = 8;      // some process would not die (device wait)
inline constexpr std::uint32_t kOutputDropped =
    16;  // rotated output could not be written (full disk)
inline constexpr std::uint32_t kStoppedRunning = 32;   // when its first process ran, or was to
inline constexpr std::uint32_t kStoppedByOthers = 64;  // it was not the agent that told it to stop

enum RecordKind : std::uint32_t { kHeldRecord = 1, kStartedRecord = 2, kEndedRecord = 3 };

// What the shim writes to its channel, whole or not at all. Times of tasks that never started are
// 0.
struct ShimRecord {
  std::uint64_t tag = 0;  // task_tag of the task's file, as given to the shim
  RecordKind kind = kHeldRecord;
  std::int32_t shim_pid = 0;
  std::int32_t task_pid = 0;
  std::int32_t exit_code = 0;
  std::int32_t exit_signal = 0;
  std::int32_t stop_signal = 0;  // the strongest signal the shim ended the task with; 0: none
  std::uint32_t flags = 0;
  std::int32_t start_errno = 0;  // not 0: the task was never executed
  std::int64_t started_boottime_us = 0;
  std::int64_t started_realtime_us = 0;
  std::int64_t ended_boottime_us = 0;
  std::int64_t ended_realtime_us = 0;
  std::int64_t cpu_user_us = 0;
  std::int64_t cpu_system_us = 0;
  std::int64_t max_rss_bytes = 0;
};

// FNV-1a over the name of the task's file.
constexpr std::uint64_t task_tag(const char* path) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (; *path != '\0'; ++path) {
    hash = (hash ^ static_cast<unsigned char>(*path)) * 1099511628211ULL;
  }
  return hash;
}

}  // namespace dove::agent::shim
