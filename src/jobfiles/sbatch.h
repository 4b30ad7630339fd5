// sbatch scripts: which lines are directives, how Slurm splits them, and the job they describe.
//
// Rules of sbatch 22.05: directives are the lines that begin with "#SBATCH" before the first line
// that is neither empty nor a comment. Words are split at blanks; quotes and backslashes keep them
// together; a bare '#' ends the line. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobfiles/draft.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

// The words of one directive line. `first` is where `line` begins in its file; places are exact.
struct DirectiveWords {
  std::vector<std::string> words;
  std::vector<Place> places;
};
Result<DirectiveWords> split_directive(std::string_view line, const Place& first);

// Applies the #SBATCH lines of `script` to the draft; warns about lines that only look like one.
Result<void> apply_directives(Draft& draft, const std::string& name, std::string_view script);

// Applies the environment's SBATCH_* and the command line's options.
Result<void> apply_overrides(Draft& draft, bool with_environment);

Result<ParsedJob> parse_sbatch(const Source& source, const Context& context);
Result<ParsedJob> parse_wrap(const Source& source, const Context& context);

}  // namespace dove::jobfiles
