// The room that others were stopped for, while an executor refuses it to the job that it is for.
//
// A refused job is tried again after a pause. Meanwhile the places would be anybody's: whoever was
// stopped would get them back, and more jobs would be stopped elsewhere. Pure.
#pragma once

#include <optional>
#include <vector>

#include "core/cycle/passes.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

// The number of refusals in a row that are waited for. After the next one the job looks elsewhere.
inline constexpr int kRefusals_waited_for = 3;

// The promise of its former places to a job that was sent back to the queue because an executor
// refused them; none: nobody was stopped for them, or it is to look elsewhere, or they were
// promised since to another job for which somebody was stopped, too. REQUIRES: the Requeue is
// applied.
std::optional<Promise> keep_room(Cycle& cycle, const Job& job);

// Jobs that were promised a part of those places for no later start: since the refusal, when it was
// not known yet that they are kept. They have to give way, for an earlier promise would stand.
std::vector<JobId> promised_since(const State& state, const Promise& kept);

}  // namespace dove::core
