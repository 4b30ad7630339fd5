// Findings as agents and monitors send them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "model/health.h"

namespace dove::codec {

class JsonFields;

// {"check", "severity", "remedy", "device": N (-1 or left out: the node), "evidence"}. Ignores
// fields that it does not know.
Result<Finding> read_finding(const nlohmann::json& value);
// The same fields of a request, whose others are errors.
Finding read_finding_fields(JsonFields& fields);

}  // namespace dove::codec
