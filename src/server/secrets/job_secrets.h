// The secrets of a submission: whether its tasks can get them. Pure.
#pragma once

#include "base/result.h"
#include "core/state/state.h"
#include "model/exec.h"

namespace dove::server {

// REQUIRES: spec.user is set. Errors: kInvalid secret_unknown, secret_elsewhere, given_twice.
Result<void> check_secrets(const core::State& state, const JobSpec& spec, const ExecSpec& exec);

}  // namespace dove::server
