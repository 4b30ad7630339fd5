// A Slurm's configuration as declared objects of ours, with a report of what became of each option.
//
// Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/migrate/conf_file.h"
#include "slurm/migrate/reporter.h"

namespace dove::slurm {

struct MigrationInput {
  std::vector<ConfLine> conf;  // slurm.conf with what it includes
  std::vector<ConfLine> gres;
  std::string associations;  // `sacctmgr dump`; "": none
  std::string qos;           // `sacctmgr -P show qos`; "": none
  // The members of a Linux group, for AllowGroups; none: there is no such group.
  std::function<std::optional<std::vector<std::string>>(const std::string&)> members;
};

struct Migration {
  std::string yaml;  // for `dove apply -f`
  std::vector<ReportLine> report;
};

Migration migrate(const MigrationInput& input);

// One line for each, and the counts; `all`: those that are carried over, too.
std::string report_text(const std::vector<ReportLine>& report);

}  // namespace dove::slurm
