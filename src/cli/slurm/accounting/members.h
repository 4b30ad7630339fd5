// The members of projects, from bindings and groups: Slurm's associations.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "base/result.h"
#include "cli/client/api.h"

namespace dove::cli {

struct Members {
  std::map<std::string, std::set<std::string>> projects;  // users by project
  std::set<std::string> administrators;                   // of the whole cluster
};

// Users with a role of member or more on one of `projects` (objects of kind Project) or on its
// domain. Bindings and groups that the caller may not see are left out, and so is "*".
Result<Members> members_of(Api& api, const nlohmann::json& projects);

}  // namespace dove::cli
