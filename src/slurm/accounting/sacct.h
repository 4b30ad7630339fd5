// sacct: queries Slurm's accounting, and splits its answers into words.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/command_run.h"

namespace dove::slurm {

// How a command is run.
using RunCommand = std::function<Result<CommandEnd>(const CommandWanted& wanted)>;

// The error's code where a site has no accounting: it will not have any at the next question.
inline constexpr const char kNoAccounting[] = "no_accounting";

// What `sacct --allocations --noheader --parsable2 OPTIONS` prints, with times in seconds since
// 1970. Blocks, for at most `limit`. Errors: no_accounting; slurm_command, and those of the run.
Result<std::string> ask_sacct(const RunCommand& run, const std::vector<std::string>& options,
                              std::chrono::seconds limit, std::size_t output_max);

// Cuts off what is before the separator.
std::string_view next_word(std::string_view& rest, char separator);

// A whole number that is not negative.
std::optional<std::int64_t> read_count(std::string_view text);

}  // namespace dove::slurm
