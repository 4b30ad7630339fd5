// Lists of the API, read page by page to their end.
//
// Include only from .cc files of this part: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/client/api.h"

namespace dove::cli {

// The answer to GET `target` with all entries of its list `member`, from as many pages as there
// are.
Result<nlohmann::json> get_all(Api& api, const std::string& target, const std::string& member);

// What --labels adds to a target that has a query: "&labels=team%3Dvision".
std::string labels_query(const std::vector<std::string>& labels);

}  // namespace dove::cli
