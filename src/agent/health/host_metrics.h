// What Linux says of the node (load, processors, memory, disks, network) and of this process, and
// of the cgroups of its tasks.
#pragma once

#include <string>

#include "telemetry/exposition.h"

namespace dove::agent {

struct HostPaths {
  std::string proc = "/proc";
  std::string cgroups = "/sys/fs/cgroup";
  std::string data_dir;      // whose disk is looked at
  std::string cgroup_group;  // the agent's own cgroup, whose children are attempts; "" : none
};

// What cannot be read is left out. Some tens of small files are read.
void add_host_metrics(const HostPaths& paths, telemetry::Exposition& out);

}  // namespace dove::agent
