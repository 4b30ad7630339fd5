// Jobs as Slurm 22.05 writes them with --json (openapi v0.0.38): the members that programs read.
//
// Pure except for the local user database. Include only from .cc files of this part.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/client/views.h"
#include "cli/slurm/accounting/account_rows.h"

namespace dove::cli {

// squeue --json.
nlohmann::json queue_json(const std::vector<JobView>& jobs, const std::string& cluster);
// sacct --json.
nlohmann::json accounting_json(const std::vector<JobView>& jobs, const AccountContext& context);

}  // namespace dove::cli
