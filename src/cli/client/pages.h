// Lists of the API, read page by page to their end.
//
// Include only from .cc files of this part: it brings nlohmann/json_fwd.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/client/api.h"

namespace dove::cli {

// The answer to GET `target` with all entries of its list `member`, from as many pages as there
// are.
Result<nlohmann::json> get_all(Api& api, const std::string& target, const std::string& member);

// What --labels adds to a target that has a query: "&labels=team%3Dvision".
std::string labels_query(const std::vector<std::string>& labels);

// What --option says, if it is there: an instant, or how long ago.
Result<std::optional<std::int64_t>> instant_us(const Invocation& invocation, const char* option);

// What --option says, a number from `least` on; `otherwise` where it is not there.
Result<std::int64_t> count_option(const Invocation& invocation, const char* option,
                                  std::int64_t otherwise, std::int64_t least);

}  // namespace dove::cli
