// Why a job waits, as the API says it: all causes in words.
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/state/state.h"
#include "model/reason.h"

namespace dove::codec {

// All of a job's; those that will never go away come first and name what was asked and what there
// is.
nlohmann::json reasons_json(const core::State& state, const core::Job& job,
                            const std::vector<Reason>& reasons);

}  // namespace dove::codec
