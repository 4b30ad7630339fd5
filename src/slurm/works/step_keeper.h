// The process beside an srun: it outlives the adapter, and records how the srun ended.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "files/descriptor.h"
#include "slurm/works/linux_user.h"

namespace dove::slurm {

struct Kept {
  std::string directory;  // of the step: `said` and `end` are written there
  std::vector<std::string> words;
  std::vector<std::string> environment;
  std::string input;  // srun's standard input, at most kScriptMax
  LinuxUser user;     // whose process srun is
  int lock = -1;      // is open and locked as long as the keeper lives
};

inline constexpr std::size_t kScriptMax = 8 << 20;
// The bytes of srun's standard error that are kept: the first half as it comes, the other half when
// srun has ended, from the end, where srun names how tasks ended.
inline constexpr std::size_t kSaidMax = 256 << 10;

// Once there is a file of this name in the directory, srun is killed unless it ends by itself
// within that time.
inline constexpr const char kGivenUp_file[] = "given_up";
inline constexpr int kGiveUp_s = 5;

// Returns once srun is being started. REQUIRES: this process has one thread. Errors: kInternal
// cannot_start.
Result<void> keep_step(const Kept& kept);

}  // namespace dove::slurm
