// Every option of Slurm 22.05's configuration, with its equivalent in Dovetail.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dove::slurm {

enum class Verdict {
  kCarried,       // the same here
  kApproximated,  // something like it: the note says what
  kNone,          // without counterpart: the note says why, or what to do
};
std::string_view word(Verdict verdict);

enum class OptionPlace {
  kGlobal,  // lines of slurm.conf that begin with neither of the following
  kNode,
  kPartition,
  kDownNodes,
  kFrontend,
  kNodeSet,
  kGres,         // gres.conf
  kAssociation,  // sacctmgr dump
  kQos,          // sacctmgr -P show qos
};

struct OptionRule {
  std::string name;
  Verdict verdict = Verdict::kNone;
  std::string note;
};

const std::vector<OptionRule>& options_of(OptionPlace place);
// Without regard to case; nullptr: Slurm 22.05 does not know it.
const OptionRule* find_option(OptionPlace place, std::string_view name);

// A group of options with one verdict; `names` are separated by white space.
struct OptionGroup {
  Verdict verdict;
  const char* note;
  const char* names;
};
const std::vector<OptionGroup>& global_option_groups();  // global_options.cc

}  // namespace dove::slurm
