// Metrics that Linux gives of the node (load, processors, memory, disks, network), of this process,
// and of the cgroups of its tasks.
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

// Reads a few tens of small files, and leaves out what cannot be read.
void add_host_metrics(const HostPaths& paths, telemetry::Exposition& out);

}  // namespace dove::agent
