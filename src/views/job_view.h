// A job as the API shows it.
//
// Pure. Include only from .cc files: it brings nlohmann/json_fwd.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/state/state.h"

namespace dove::views {

// GET /v1/jobs/{id}. What cannot be known without the ExecSpec blob (command, environment, files)
// is not in it.
nlohmann::json job_json(const core::State& state, const core::Job& job);
// job_json() without attempts and what only a closer look needs: for lists.
nlohmann::json job_summary_json(const core::State& state, const core::Job& job);

}  // namespace dove::views
