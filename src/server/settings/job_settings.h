// Settings of jobs: values for the fields that submissions leave out, by level (model/template.h).
//
// A level is the cluster, a domain or a project. The nearest one wins, except for fields that a
// wider one has locked. A field counts as left out when it has the value that a job with nothing
// but a command has. Entries of `environment` and `labels` are each a field of their own. Pure;
// loop thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "core/state/state.h"

namespace dove::server {

// Whether they may be declared. Errors: kInvalid, at `job` or `locked`; kConflict setting_locked,
// setting_twice.
Result<void> check_settings(const core::State& state, const Settings& settings);
// Fields of it, or of others, that have no effect where a wider level has locked them.
std::vector<std::string> settings_warnings(const core::State& state, const Settings& settings);

// The submission with what the settings of its levels say; `applied` gets a line if they said
// anything. `turn`: see server/executors/routes.h; an executor of shares that cannot run the job is
// left out. REQUIRES: spec.user is set. Errors: kDenied setting_locked.
Result<codec::Submission> with_settings(const core::State& state, codec::Submission submission,
                                        std::uint64_t turn, std::vector<std::string>& applied);

}  // namespace dove::server
