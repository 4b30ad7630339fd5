// The signal that the user of a batch job wants some time before its end: sbatch --signal.
//
// Slurm 22.05 shows it nowhere. It is read from where it was written: the #SBATCH lines of the
// script, and the command line, which Slurm's accounting keeps. A signal from the environment
// (SBATCH_SIGNAL) is not seen. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dove::slurm {

struct UserSignal {
  std::string name;            // as scancel takes it: "USR1", "10"
  bool is_of_script = false;   // B: the script alone gets it; else the steps, and not the script
  std::int64_t before_s = 60;  // the end
  bool operator==(const UserSignal&) const = default;
};

// Reads "B:USR1@90". None: it is no such value, or SIGKILL, which ends the job for good.
std::optional<UserSignal> read_user_signal(std::string_view value);

// The last one of the lines #SBATCH before the script's first command.
std::optional<UserSignal> signal_of_script(std::string_view script);

// Reads "sbatch -p gpu --signal=USR1@90 train.sh", words with blanks between, as accounting has
// them. What comes after the name of the script is the script's: where that is in doubt there is
// none.
std::optional<UserSignal> signal_of_command(std::string_view line);

}  // namespace dove::slurm
