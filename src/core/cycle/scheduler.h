// Scheduler: a State, the indexes over it, and the policies. The controller and the simulator drive
// it.
//
// apply folds a record; decide returns what must be done now. The indexes follow this State and no
// other, so a decision cannot depend on questions put to another one. The owner uses it from one
// thread. Recovery and projections fold a State (core/state/apply.h) and need no Scheduler.
#pragma once

#include <memory>
#include <vector>

#include "core/cycle/pass.h"
#include "core/queue/policy.h"
#include "core/state/state.h"
#include "model/event.h"

namespace dove::core {

struct Indexes;

class Scheduler {
 public:
  // What `policies` names lives as long as the program.
  explicit Scheduler(const Policies& policies, State state = State());
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  const State& state() const { return state_; }
  const Policies& policies() const { return policies_; }

  // As core/state/apply.h has them.
  void begin_batch(Instant at, Epoch epoch);
  // REQUIRES: nothing was applied since begin_batch. It was `now`, and `epoch`, before.
  void abandon_batch(Instant now, Epoch epoch);
  void apply(const StampedEvent& event);
  void apply(const Decision& decision);

  // What must be done now. Each decision is already applied when this returns. Runs the named
  // passes in order (core/cycle/pass.h). The same state gives the same decisions, whatever is
  // indexed.
  std::vector<Decision> decide(const CycleOptions& options = {});

  // From here on others decide, and what they did is applied: nothing is noted for the indexes,
  // which the next decide() builds anew.
  void let_go();

  // The next instant at which decide could have something new to say without an event; kNever if
  // none.
  Instant wake_at() const;

 private:
  State state_;
  Policies policies_;
  std::unique_ptr<Indexes> indexes_;
};

// The same for once, on a state that nobody follows: the indexes are built for this cycle alone.
std::vector<Decision> decide(State& state, const Policies& policies,
                             const CycleOptions& options = {});

}  // namespace dove::core
