// The options of sbatch 22.05 and what later ones added, as one table: what each does here, or why
// it does nothing.
//
// The table is the only place that knows them: #SBATCH lines, SBATCH_* variables, the command line
// of sbatch and `dove submit`, and the `general` items of tuxiv.conf all go through it, and
// docs/guide/sbatch.md is generated from it. All functions are pure but for the Draft they fill.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jobfiles/draft.h"

namespace dove::jobfiles {

// kMayBeEmpty: there must be one, and "" is as good as leaving the option out, as sbatch has it.
enum class Argument { kNone, kRequired, kMayBeEmpty, kOptional };

struct OptionRule {
  std::string_view name;  // long, without dashes
  char letter = 0;        // short, or 0
  Argument argument = Argument::kRequired;
  // Sets what the option means; null for one without effect. Errors come without a place.
  Result<void> (*set)(Draft& draft, const Option& option) = nullptr;
  std::string_view text;           // what it does; for one without effect, why it has none
  std::string_view variable = {};  // SBATCH_...: the same from the environment
  bool newer = false;              // of a later Slurm: never meant by an abbreviation
};

// In alphabetical order of names.
const std::vector<OptionRule>& option_rules();

// The rule of a long name, in full or abbreviated where that is unambiguous (as getopt_long does).
// Errors: "unknown_option" with a suggestion, "ambiguous_option" with the candidates.
Result<const OptionRule*> find_option(std::string_view name);
const OptionRule* find_letter(char letter);
// The one known name that an unknown or ambiguous one was probably meant to be.
std::optional<std::string_view> suggested_option(std::string_view name);

// Applies one option at draft.level. `name` may be abbreviated. An accepted option without effect
// becomes a warning; an error carries `place`.
Result<void> apply_sbatch_option(Draft& draft, std::string_view name, const std::string& value,
                                 const Place& place);

// Options out of words, as getopt_long would: "--nodes=2", "--nodes 2", "-N2", "-N 2", bundles.
// places[i] is where words[i] stands. Stops at the first word that is no option, or behind "--";
// `used` is the number of words taken.
Result<std::vector<Option>> read_options(const std::vector<std::string>& words,
                                         const std::vector<Place>& places, std::size_t& used);

// SBATCH_* of the submitter's environment.
Result<void> apply_environment(Draft& draft);

// The table of docs/guide/sbatch.md, in Markdown.
std::string option_table();

}  // namespace dove::jobfiles
