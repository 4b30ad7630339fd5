// Why a job waits, as the API says it: all causes in words.
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/state/state.h"
#include "model/reason.h"

namespace dove::views {

// Whether whoever reads it may be told the name of that job; the number is told in any case.
using MayName = std::function<bool(const core::Job& other)>;

// The names of jobs of the same user alone.
MayName names_of_own(const core::Job& job);

// All of a job's; those that will never go away come first and name what was asked and what there
// is.
nlohmann::json reasons_json(const core::State& state, const core::Job& job,
                            const std::vector<Reason>& reasons, const MayName& may_name);
// "text" for people, "kind", and the numbers that are not 0.
nlohmann::json reason_json(const core::State& state, const Reason& reason, const MayName& may_name);

}  // namespace dove::views
