#include "cli/slurm/gang/srun_child.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/exec_words.h"
#include "cli/slurm/programs/program_path.h"

namespace dove::cli {

void become_child(const std::string& program, const std::vector<std::string>& words,
                  const std::vector<std::string>& environment, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  std::string name = program_name(program);
  std::vector<char*> arguments = pointers(words);
  arguments.insert(arguments.begin(), name.data());
  ::execve(program.c_str(), arguments.data(), pointers(environment).data());
  const std::string said =
      fmt::format("srun: error: cannot run {}: {}\n", program, std::strerror(errno));
  // The parent only learns the exit code.
  if (::write(STDERR_FILENO, said.data(), said.size()) < 0) ::_exit(126);
  ::_exit(127);
}

}  // namespace dove::cli
