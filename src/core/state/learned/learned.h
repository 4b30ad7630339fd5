// Learned: estimates for waiting jobs from those that ended: how much GPU time each is likely to
// take, and so its position among others.
//
// The fold updates State::learned while an order needs it (policies/learned.h); the functions here
// read it. Whole numbers only; the same log gives the same estimates.
#pragma once

#include <cstdint>

#include "model/time.h"

namespace dove::core {

struct State;
struct Job;

// Begins to learn, or forgets all: by the names in the settings and queues, since folding knows no
// policies. What waits when it begins comes first, in order of submission.
void keep_learned(State& state);

// The job begins to wait, or waits no more.
void learn_waits(State& state, Job& job);
void learn_leaves(State& state, Job& job);
// An attempt of the job is over: Job::ran_before was `before`.
void learn_attempt(State& state, const Job& job, Span before);
// The job has ended.
void learn_end(State& state, const Job& job);

// Thousandths of a GPU that the job takes; a core counts as a tenth of one. At least 1.
std::int64_t width_milli(const Job& job);

// Where the job stands among others, in microseconds of submission: ascending. It is passed by what
// is submitted up to so long after it; the longer it is likely to take, and the more there is that
// waits, the longer. For an active job: where it would stand if it waited again now.
std::int64_t learned_key(const State& state, const Job& job);

// How much later a job stands that is likely to take half as much again.
Span half_as_much_again(const State& state);

// When a running job will be past the service that its estimate is made from; kNever if it will
// not.
Instant learned_change(const State& state, const Job& job);

}  // namespace dove::core
