// Lists of ids as the kernel writes them: "0-3,8".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::devices {

// kInvalid for anything else than ids and ranges of them, ascending within a range.
Result<std::vector<std::int32_t>> parse_id_list(const std::string& text);

}  // namespace dove::devices
