// Runs one of Slurm's commands and keeps what it prints.
//
// What users set for Slurm in the environment (SLURM_*, SALLOC_*, …) is not handed on, but for
// SLURM_CONF, and what `environment` holds is, too. Blocks. One thread.
#pragma once

#include "base/result.h"
#include "command/command.h"

namespace dove::slurm {

using CommandEnd = command::End;
using CommandWanted = command::Wanted;

// Errors: those of command::run.
Result<CommandEnd> run_command(CommandWanted wanted);

}  // namespace dove::slurm
