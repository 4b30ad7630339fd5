#include "core/cycle/scheduler.h"

#include <utility>

#include "core/cycle/cycle.h"
#include "core/cycle/indexes.h"
#include "core/cycle/next_wake.h"
#include "core/state/apply.h"

namespace dove::core {

Scheduler::Scheduler(const Policies& policies, State state)
    : state_(std::move(state)), policies_(policies), indexes_(std::make_unique<Indexes>()) {
  // Notes for indexes of another Scheduler, as when the state is a copy, would leave out what
  // happened before. Without notes the indexes are built anew.
  state_.changes.stop();
}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

void Scheduler::begin_batch(Instant at, Epoch epoch) { core::begin_batch(state_, at, epoch); }
// Only what begin_batch set: the caller has folded nothing yet.
void Scheduler::abandon_batch(Instant now, Epoch epoch) {
  state_.now = now;
  state_.epoch = epoch;
}
void Scheduler::apply(const StampedEvent& event) { core::apply(state_, event); }
void Scheduler::apply(const Decision& decision) { core::apply(state_, decision); }

std::vector<Decision> Scheduler::decide(const CycleOptions& options) {
  return run_cycle(state_, *indexes_, policies_, options);
}

void Scheduler::let_go() {
  if (!state_.changes.is_followed()) return;
  // A job that others end and forget would stay in the indexes, which only hear of its end.
  indexes_ = std::make_unique<Indexes>();
  state_.changes.stop();
}

Instant Scheduler::wake_at() const {
  // After a fold without a cycle the indexes are behind. The walk over the state gives the same
  // instant, and is only slower.
  const bool in_step = state_.changes.is_followed() && state_.changes.jobs.empty();
  return in_step ? core::wake_at(state_, *indexes_) : core::wake_at(state_);
}

std::vector<Decision> decide(State& state, const Policies& policies, const CycleOptions& options) {
  Indexes indexes;
  // Before and after: these indexes follow nothing that was noted for others, and are gone when the
  // call returns.
  state.changes.stop();
  std::vector<Decision> decisions = run_cycle(state, indexes, policies, options);
  state.changes.stop();
  return decisions;
}

}  // namespace dove::core
