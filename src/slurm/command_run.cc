#include "slurm/command_run.h"

#include <unistd.h>

#include <string_view>

namespace dove::slurm {
namespace {

bool is_slurm_setting(std::string_view entry) {
  for (const std::string_view begin : {"SLURM_", "SALLOC_", "SBATCH_", "SQUEUE_", "SINFO_",
                                       "SCANCEL_", "SCONTROL_", "SRUN_", "SACCT_"}) {
    if (entry.starts_with(begin)) return !entry.starts_with("SLURM_CONF=");
  }
  return false;
}

}  // namespace

Result<CommandEnd> run_command(CommandWanted wanted) {
  if (!wanted.environment) wanted.environment.emplace();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_slurm_setting(*entry)) wanted.environment->emplace_back(*entry);
  }
  return command::run(wanted);
}

}  // namespace dove::slurm
