// Whether what explain says of a waiting job is so: removes the reasons in copies of the state and
// lets the brain decide there.
//
// 1. With all reasons gone and all other waiting jobs held, the job is launched.
// 2. With any one of them left it is not: each is needed.
// 3. A job that explain calls ahead is launched first where both could be; a queue that lets
//    nothing pass, by its word, does not let the job pass.
// 4. What it says never fits does not fit on empty nodes either. What it says is in pieces is.
// 5. With another set of causes gone in place of those about places, the job is launched too, and
//    with a part of that set it is not.
#pragma once

#include <optional>
#include <string>

#include "core/queue/policy.h"
#include "core/state/state.h"

namespace dove::sim {

// What is wrong with the explanation of a waiting job, in words; none when nothing is. REQUIRES:
// the state is as decide left it.
std::optional<std::string> find_wrong_reason(const core::State& state,
                                             const core::Policies& policies, JobId job);

}  // namespace dove::sim
