#include "cli/slurm/gang/program_copy.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "base/exec_words.h"

namespace dove::cli {

Result<void> copy_program(const std::string& srun, const GangStep& step) {
  const std::string sbcast = srun.substr(0, srun.rfind('/') + 1) + "sbcast";
  std::vector<pid_t> copies;
  int wrong = 0;
  for (const SrunCall& call : step.calls) {
    if (call.copy.empty()) continue;
    std::vector<char*> words = pointers(call.copy);
    words.insert(words.begin(), const_cast<char*>("sbcast"));
    pid_t copy = 0;
    wrong = ::posix_spawn(&copy, sbcast.c_str(), nullptr, nullptr, words.data(),
                          pointers(step.environment).data());
    if (wrong != 0) break;
    copies.push_back(copy);
  }
  bool has_failed = false;
  for (const pid_t copy : copies) {
    int status = 0;
    while (::waitpid(copy, &status, 0) < 0 && errno == EINTR) {
    }
    has_failed = has_failed || status != 0;
  }
  if (wrong != 0) {
    return Error{ErrorKind::kUnavailable, "sbcast_failed",
                 fmt::format("cannot run {}: {}", sbcast, std::strerror(wrong)), "bcast"};
  }
  if (!has_failed) return {};
  return Error{ErrorKind::kUnavailable, "sbcast_failed",
               "the program could not be copied to all nodes of the step", "bcast"};
}

}  // namespace dove::cli
