// Tables as Slurm's accounting commands (sacct, sacctmgr, sshare, sprio, sstat) print them: fixed
// widths with "+" where a value is cut, or "|" between values for programs (-p, -P).
//
// Plain values; pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace dove::cli {

struct SlurmColumn {
  std::string name;
  int width = 10;
  bool left = false;       // aligned to the left
  std::string title = {};  // "" : the name
};

struct SlurmListing {
  enum class Kind { kAligned, kEndedBars, kBars };
  Kind kind = Kind::kAligned;
  bool header = true;
  std::string bar = "|";
};

// -p, -P, -n, --delimiter of the command line.
SlurmListing slurm_listing(const Invocation& invocation);
std::vector<OptionSpec> slurm_listing_options();

// "JobID%20,State,user%-8": names of `known` in any case, or their beginnings; "all" names all of
// them where `known` has none of that name. kInvalid names the field that there is not.
Result<std::vector<SlurmColumn>> parse_columns(const std::string& format,
                                               const std::vector<SlurmColumn>& known);

std::string header_text(const SlurmListing& listing, const std::vector<SlurmColumn>& columns);
// One row with its end of line; control characters are shown as '?'.
std::string row_text(const SlurmListing& listing, const std::vector<SlurmColumn>& columns,
                     const std::function<std::string(const std::string& name)>& value);
// The names in columns, as --helpformat shows them.
std::string names_text(const std::vector<SlurmColumn>& known);

}  // namespace dove::cli
