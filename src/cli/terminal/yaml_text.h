// JSON values as YAML and back: `dove apply -f` reads what `-o yaml` prints.
//
// Pure; any thread. Include only from .cc files of this part.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace dove::cli {

// Block style, two spaces, strings quoted where YAML would read them as something else.
std::string yaml_text(const nlohmann::json& value);

// The documents of `text` (empty ones left out). Errors (kInvalid, kTooLarge) have
// "name:line:column" in their message. At most 16 MiB, 64 levels and 200,000 values.
Result<std::vector<nlohmann::json>> read_yaml(const std::string& name, const std::string& text);

}  // namespace dove::cli
