// Runtime: the OCI runtime of this machine, and what it can do here.
//
// runc enters cgroups of either version; crun needs a machine whose cgroups are all version 2.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace dove::containers {

struct Runtime {
  std::string program;  // absolute
  std::string state;    // directory of its own records
};

// `wanted` is "auto", "runc", "crun" or a path. `only_v2`: all cgroups of the machine are
// version 2. Errors say what to install or set.
Result<Runtime> find_runtime(const std::string& wanted, bool only_v2, const std::string& state);

// Command lines. `log` gets one JSON line per complaint. The container inherits this number of
// descriptors from 3 on.
std::vector<std::string> run_command(const Runtime& runtime, const std::string& id,
                                     const std::string& bundle, const std::string& pid_file,
                                     const std::string& log, std::size_t descriptors);
// A further process, described by the file `process`, in the container `id`, which runs.
std::vector<std::string> exec_command(const Runtime& runtime, const std::string& id,
                                      const std::string& process, const std::string& pid_file,
                                      const std::string& log);
std::vector<std::string> delete_command(const Runtime& runtime, const std::string& id);

// The last complaint in a log; "" if there is none.
std::string last_complaint(const std::string& log);

}  // namespace dove::containers
