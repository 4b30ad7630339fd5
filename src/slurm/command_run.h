// Runs one of Slurm's commands and keeps its output.
//
// Variables that users set for Slurm (SLURM_*, SALLOC_*, …) are not passed on, except SLURM_CONF
// and those in `environment`. Blocks. One thread.
#pragma once

#include "base/result.h"
#include "command/command.h"

namespace dove::slurm {

using CommandEnd = command::End;
using CommandWanted = command::Wanted;

// Errors: those of command::run.
Result<CommandEnd> run_command(CommandWanted wanted);

}  // namespace dove::slurm
