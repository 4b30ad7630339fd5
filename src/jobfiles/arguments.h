// The command lines of sbatch and of `dove submit`, read as options with their places.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "jobfiles/source.h"

namespace dove::jobfiles {

// An error that names a field of the API, about a job of ours: named by the option that was typed.
Error in_typed_words(Error error, const ParsedJob& job);

// The arguments of sbatch, or of `dove submit`, which knows the same options: long ones may be
// abbreviated where that is not ambiguous, short ones bundled. `rest` starts at the first argument
// that is no option (the script and its arguments). Names come back long and in full.
struct Arguments {
  std::vector<Option> options;
  std::vector<std::string> rest;
};
Result<Arguments> read_sbatch_arguments(const std::vector<std::string>& arguments);

}  // namespace dove::jobfiles
