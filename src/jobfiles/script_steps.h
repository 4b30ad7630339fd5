// The srun lines of a batch script, checked against the table of step options (step_options.h) when
// the script is submitted, so that nobody learns in the middle of a job what it cannot have.
//
// It sees words as a shell does, as far as that can be known without running it: what stands behind
// a variable, in another file or in a here-document is not looked at. Only warns, never refuses:
// the line may never run. Pure.
#pragma once

#include <string>
#include <string_view>

#include "jobfiles/draft.h"

namespace dove::jobfiles {

void warn_of_steps(Draft& draft, const std::string& name, std::string_view script);

}  // namespace dove::jobfiles
