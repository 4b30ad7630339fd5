// tuxiv.conf (TACC): the job it describes, and the files tcloud would have generated for it.
//
// The job is a batch script, as tcloud makes it: #SBATCH lines, module loads, exports, then srun of
// the joined entrypoint. tcloud puts the entrypoint into WORKDIR/run.sh; here the batch script
// holds that text itself, so that nothing has to be written before the job starts. Pure.
#pragma once

#include <vector>

#include "base/result.h"
#include "jobfiles/source.h"
#include "jobfiles/tuxiv/tuxiv_file.h"

namespace dove::jobfiles {

Result<ParsedJob> parse_tuxiv(const Source& source, const Context& context);

// USERDIR: Context::userdir, or <home>/USERDIR.
std::string tuxiv_userdir(const Context& context);

// "configurations/conda.yaml", "configurations/run.slurm", "configurations/citynet.sh", "run.sh",
// byte for byte as tcloud v0.4.1 writes them for this directory, user and file.
std::vector<GeneratedFile> tcloud_files(const TuxivFile& file, const Context& context);

}  // namespace dove::jobfiles
