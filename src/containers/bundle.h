// Bundle: what an OCI runtime is told about one container: its config.json.
//
// Sources: OCI runtime specification 1.0.2 (config.md, config-linux.md). What a container may do is
// what an unprivileged user of the machine may do, and less: no new privileges, seven capabilities
// over its own files and processes only, system calls that change the machine refused, devices by
// allocation. Values; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "containers/cdi.h"
#include "containers/id_map.h"

namespace dove::containers {

// A file or directory that the container sees.
struct Mount {
  std::string source;  // where dove-contain has prepared it, with all of its restrictions
  std::string target;  // absolute, inside
};

struct Bundle {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string workdir = "/";
  std::string root;  // the mounted root directory
  bool read_only = false;
  std::string hostname;
  std::uint32_t uid = 0;  // inside
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
  std::uint32_t umask = 022;
  IdMap uids;
  IdMap gids;
  std::vector<Mount> mounts;
  std::vector<std::string> devices;  // device nodes of the machine that it may use
  std::vector<CdiHook> hooks;
  std::map<std::string, std::string> annotations;
  std::int64_t shm_bytes = 0;
  std::string cgroup;              // cgroupsPath
  std::int64_t memory_bytes = 0;   // 0: unlimited
  std::int64_t processes_max = 0;  // 0: unlimited
  std::vector<std::int32_t> cpus;
  std::vector<std::int32_t> numa_nodes;
};

std::string config_json(const Bundle& bundle);
// The specification of a further process in the container, in the way `bundle` has its first.
std::string process_file(const Bundle& bundle);

}  // namespace dove::containers
