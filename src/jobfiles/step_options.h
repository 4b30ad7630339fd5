// The options of srun 22.05 and of its plug-in pyxis inside a job, as one table: what each does
// there.
//
// `srun` reads its command line by it, and a batch script's srun lines are checked against it when
// the script is submitted (jobfiles/script_steps.h). Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobfiles/options.h"

namespace dove::jobfiles {

enum class StepUse {
  kHonoured,
  kNoEffect,  // a warning
  kRefused,   // the step does not start
};

struct StepOption {
  std::string_view name;  // long, without dashes
  char letter = 0;
  Argument argument = Argument::kRequired;
  StepUse use = StepUse::kHonoured;
  std::string_view text;       // what it does, or why it does nothing
  std::string_view same = {};  // values, with commas, that ask for what happens anyway
};

// In alphabetical order of names.
const std::vector<StepOption>& step_options();

// By its long name, in full or abbreviated where that is unambiguous; null: there is none.
const StepOption* find_step_option(std::string_view name);
const StepOption* find_step_letter(char letter);

// Why it does nothing, or is refused, with this value; "" where it has its effect.
std::string_view step_objection(const StepOption& option, std::string_view value);

}  // namespace dove::jobfiles
