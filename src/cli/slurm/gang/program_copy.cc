#include "cli/slurm/gang/program_copy.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/slurm/gang/srun_child.h"

namespace dove::cli {

Result<void> copy_program(const std::string& srun, const GangStep& step) {
  const std::string sbcast = srun.substr(0, srun.rfind('/') + 1) + "sbcast";
  const pid_t self = ::getpid();
  std::vector<pid_t> copies;
  int wrong = 0;
  for (const SrunCall& call : step.calls) {
    if (call.copy.empty()) continue;
    const pid_t copy = ::fork();
    if (copy == 0) become_child(sbcast, call.copy, step.environment, self);
    if (copy < 0) {
      wrong = errno;
      break;
    }
    copies.push_back(copy);
  }
  bool has_failed = false;
  for (const pid_t copy : copies) {
    int status = 0;
    pid_t ended = -1;
    do {
      ended = ::waitpid(copy, &status, 0);
    } while (ended < 0 && errno == EINTR);
    has_failed = has_failed || ended != copy || status != 0;
  }
  if (wrong != 0) {
    return Error{ErrorKind::kUnavailable, "sbcast_failed",
                 fmt::format("cannot start {}: {}", sbcast, std::strerror(wrong)), "bcast"};
  }
  if (!has_failed) return {};
  return Error{ErrorKind::kUnavailable, "sbcast_failed",
               "the program could not be copied to all nodes of the step", "bcast"};
}

}  // namespace dove::cli
