// Cgroups: limits that the kernel enforces on a task, and a way to end all of its processes from
// which none escapes. They are used where this process may write to cgroups; a setting of the
// agent.
//
// Works with v2, v1, and both side by side (v1 with controllers, v2 for killing). What the machine
// does not offer is not enforced, and CgroupRoot says so in words. Not thread-safe; any thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/tasks/huge_page_limits.h"
#include "agent/tasks/shim_config.h"
#include "base/result.h"

namespace dove::agent {

struct CgroupLimits {
  std::int64_t memory_bytes = 0;    // of the attempt, where one is named; 0: unlimited
  std::int64_t processes = 0;       // threads included; 0: unlimited
  std::vector<std::int32_t> cpus;   // empty: all
  std::vector<std::int32_t> nodes;  // of memory; empty: all
  // The device files that may be opened besides the standard ones (device_rules.h); unset: all.
  std::optional<std::vector<std::string>> devices = {};
  // The attempt's, where one is named; sizes that are not listed have none. Unset: all there are.
  std::optional<BytesByPage> huge_pages = {};
  std::int64_t step_bytes = 0;  // of the step's memory, where one is named; 0: unlimited
};

// Whose cgroup: of a task, below one of its attempt that holds the memory of all of them; those of
// a step have one of their own between.
struct CgroupName {
  std::string attempt;  // "": the task stands alone
  std::string task;
  std::string step = {};  // "": the task is of none; only with an attempt
  // Those above the task's, from the outermost.
  std::vector<std::string> above() const;
  std::size_t shared_with(
      const CgroupName& other) const;  // how many of above() are the other's too
  std::string text() const;
};

// The cgroup of one task. Copying the handle does not copy the group; the group outlives it.
class Cgroup {
 public:
  // Has the shim put its task in, end it and see whether memory ran out.
  void add_to(ShimConfig& config) const;

  // Sends SIGKILL to everything inside until it is empty, at most for `limit`; whether it is.
  bool kill_all(std::chrono::milliseconds limit) const;
  std::int64_t memory_peak_bytes() const;   // 0: not known
  std::int64_t memory_limit_bytes() const;  // that holds for it; 0: none, or not known
  // Removes the empty group, and of those above it the empty ones that are not among the `shared`
  // outermost, which other tasks use or are about to use. False if the group itself is not empty,
  // or not gone within 100 ms.
  bool remove(std::size_t shared = 0) const;

 private:
  friend class CgroupRoot;
  std::vector<pid_t> processes() const;
  std::vector<std::string> directories_;  // one per hierarchy, never empty
  std::string kill_path_;                 // v2
  std::vector<std::string> above_;        // of each hierarchy levels_, from the innermost
  std::string memory_directory_;
  bool v2_memory_ = false;
  std::size_t levels_ = 0;  // of groups above it
};

class CgroupRoot {
 public:
  enum class Version { kNone, kV1, kV2, kHybrid };

  // Looks at the machine and makes the group `name` (of this agent, in the cgroup it runs in) in
  // each hierarchy that can be written. Without any, version() is kNone. On v2 the calling process
  // may be moved to a group `agent` beside it, since the kernel wants limits on leaves only; where
  // others are in the way, and for a service of systemd, the group is made at the top of the tree
  // if that can be written: systemd cannot start a service again whose group has limited children.
  // `uses_programs`: rules of devices may be programs of v2, which are tried first.
  static CgroupRoot detect(const std::string& name, bool uses_programs = true);

  Version version() const { return version_; }
  // "" : all limits are enforced. Else what is not and why, for a log and `dove nodes`.
  const std::string& not_enforced() const { return not_enforced_; }
  bool limits_memory() const;

  // Makes the group of a task, or takes up the one that is there, and sets its limits. Errors: not
  // permitted, no such cpu, version() is kNone.
  Result<Cgroup> create(const CgroupName& name, const CgroupLimits& limits) const;
  // The group of a task that create() made in a former life.
  Cgroup find(const CgroupName& name) const;
  // Where an OCI runtime that this process starts finds the task's group: its cgroupsPath.
  std::string runtime_path(const CgroupName& name) const;
  // Removes what a runtime left of the task's groups in any hierarchy, if it is empty; `shared` as
  // for Cgroup::remove.
  void clear(const CgroupName& name, std::size_t shared = 0) const;
  // Removes the groups that detect() made, if they are empty.
  void remove() const;

 private:
  struct Hierarchy {
    std::string directory;  // of this agent
    std::string mount;
    bool v2 = false;
    bool memory = false;
    bool pids = false;
    bool cpuset = false;
    bool hugetlb = false;
    bool devices = false;  // keeps the rules of devices
  };
  void find_device_rules(bool uses_programs);
  std::string missing() const;
  void add_v1(Hierarchy hierarchy, const std::string& base);
  // Below `own`, the group of this process, or, where that is not possible, at the top.
  void add_v2(Hierarchy hierarchy, const std::string& own, const std::string& name);
  static bool open_v2(Hierarchy& hierarchy, const std::string& base, bool makes_way);
  static Result<void> make(const Hierarchy& hierarchy, const CgroupName& name,
                           const CgroupLimits& limits);

  std::vector<Hierarchy> hierarchies_;
  std::vector<std::string> others_;  // this agent's, where only runtimes make groups
  std::string v1_devices_;           // that of the devices controller, which is one of them
  std::string no_devices_;           // why rules of devices cannot be set; "": they can
  Version version_ = Version::kNone;
  std::string not_enforced_;
};

}  // namespace dove::agent
