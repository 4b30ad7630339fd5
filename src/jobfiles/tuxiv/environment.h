// What a tuxiv environment becomes on a node: shell text that makes and enters it.
//
// Where the user has Miniconda (~/.Miniconda3, as TACC installs it), the conda environment of that
// name, created or updated when its list changed. Else, where the node has micromamba or conda, an
// environment of theirs below ~/.dove/environments. Else a Python venv there, made once per name
// and list, under a lock, with the system's packages visible and the rest installed by pip; uv
// brings a Python that the node lacks. pip is only given names that are known to be the same
// project's (conda_names.h). Making an eleventh environment removes the one that was used least
// recently, unless a task is in it. If nothing of that works the task fails and says why.
#pragma once

#include <string>

#include "base/result.h"
#include "jobfiles/draft.h"
#include "jobfiles/tuxiv/tuxiv_file.h"

namespace dove::jobfiles {

// The given name, or the MD5 of the sorted dependencies joined by blanks, as tcloud does.
std::string environment_name(const TuxivFile& file);

// Bash text, "" if the file asks for no environment. Warns about dependencies that a venv cannot
// hold. Errors: a name or a dependency that is none.
Result<std::string> environment_script(const TuxivFile& file, const std::string& home,
                                       Draft& draft);

}  // namespace dove::jobfiles
