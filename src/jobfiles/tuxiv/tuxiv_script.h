// Pieces of text that tcloud's batch script and ours have in common. Pure.
#pragma once

#include <string>

#include "jobfiles/source.h"
#include "jobfiles/tuxiv/tuxiv_file.h"

namespace dove::jobfiles {

// TACC_WORKDIR, TACC_USERDIR and TACC_SLURM_USERLOG replaced as text, as in #SBATCH lines.
std::string substituted(std::string text, const Context& context);

// "<USERDIR>/slurm_log/slurm-%j.out".
std::string default_output(const Context& context);

// run.slurm up to its last line, which starts the tasks.
std::string slurm_head(const TuxivFile& file, const Context& context);

}  // namespace dove::jobfiles
