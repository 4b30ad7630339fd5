// The bodies that clients post about steps (api/openapi.yaml: Step), read and checked once, at the
// edge. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "backends/step.h"
#include "base/result.h"

namespace dove::server {

struct StepBody {
  backends::StepRequest request;
  backends::StepProgram program;
};

// Errors: kInvalid, with the field's name.
Result<StepBody> read_step(const nlohmann::json& body);
Result<backends::StepAttach> read_step_attach(const nlohmann::json& body, std::int32_t step);

}  // namespace dove::server
