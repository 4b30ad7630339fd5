// DeviceRules: which device files the kernel lets the processes of a cgroup open, regardless of
// CUDA_VISIBLE_DEVICES and of the user they run as.
//
// A list of allowed files; all others are refused. The list always has what every program may
// expect: null, zero, full, random, urandom, tty, ptmx and the terminals of /dev/pts. The devices
// controller of cgroup v1 enforces it, or a small program of ours that cgroup v2 runs at each open.
//
// Sources: the kernel's admin-guide/cgroup-v1/devices.rst, admin-guide/cgroup-v2.rst "Device
// controller", bpf(2). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::agent {

inline constexpr std::int64_t kAnyMinor = -1;

struct DeviceRule {
  char type = 'c';  // or 'b'
  std::uint32_t major = 0;
  std::int64_t minor = kAnyMinor;
  bool is_standard = true;  // not of this task alone
  bool operator==(const DeviceRule&) const = default;
};

// The standard ones, and the device files among `paths`, which may have * and ? (glob(7)). Paths
// that are not there or no devices are left out.
std::vector<DeviceRule> device_rules(const std::vector<std::string>& paths);
// The device files that `paths` stand for, ascending.
std::vector<std::string> expand_device_paths(const std::vector<std::string>& paths);

// Has cgroup v1 keep the rules for the group of this directory. A standard file that this process
// has no right to itself is left out; for another one that is an error.
Result<void> restrict_v1(const std::string& directory, const std::vector<DeviceRule>& rules);
// Has cgroup v2 keep them, instead of those that it was given before.
Result<void> restrict_v2(const std::string& directory, const std::vector<DeviceRule>& rules);
// Whether restrict_v2 can work for groups below this one; the error says why not.
Result<void> can_restrict_v2(const std::string& directory);

}  // namespace dove::agent
