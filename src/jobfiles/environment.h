// What a tuxiv environment becomes on a node: shell text that makes and enters it.
//
// Where the user has Miniconda (~/.Miniconda3, as TACC installs it), the conda environment of that
// name, created or updated when its list changed. Elsewhere a Python venv below
// ~/.dove/environments, made once per name and list, under a lock, with the system's packages
// visible and the rest installed by pip; if that cannot be done the task fails and says why.
#pragma once

#include <string>

#include "base/result.h"
#include "jobfiles/draft.h"
#include "jobfiles/tuxiv_file.h"

namespace dove::jobfiles {

// The given name, or the MD5 of the sorted dependencies joined by blanks, as tcloud does.
std::string environment_name(const TuxivFile& file);

// Bash text, "" if the file asks for no environment. Warns about dependencies that a venv cannot
// hold. Errors: a name or a dependency that is none.
Result<std::string> environment_script(const TuxivFile& file, const std::string& home,
                                       Draft& draft);

}  // namespace dove::jobfiles
