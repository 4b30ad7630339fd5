// SlurmVersion: which Slurm the commands belong to, and how their arguments differ.
//
// Pure. How what they print differs is in slurm_json.h. Seen with 22.05 and 24.11; the rest is as
// Slurm's source has it (docs/decisions/0026).
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dove::slurm {

struct SlurmVersion {
  int year = 0;
  int month = 0;

  // Prints every node by itself. What did so in 22.05 has groups of nodes since.
  std::vector<std::string> nodes_command() const;
  // Whether root's salloc makes an allocation for another user.
  bool allocates_for_users() const;

  auto operator<=>(const SlurmVersion&) const = default;
};

// `said`: what `sinfo --version` prints, "slurm-wlm 24.11.5".
Result<SlurmVersion> read_version(std::string_view said);

}  // namespace dove::slurm
