#include "core/cycle/passes.h"

namespace dove::core {
namespace {

// So many jobs are forgotten in one cycle at most; the rest in the next.
constexpr int kForgotten_max = 1000;

}  // namespace

void retain(Cycle& cycle) {
  const Derived& derived = *cycle.state.derived;
  const ClusterSettings& settings = cycle.state.settings;
  for (int i = 0; i < kForgotten_max && !derived.forgettable.empty(); ++i) {
    const auto [ended_at, id] = *derived.forgettable.begin();
    const bool too_many = derived.ended_count > settings.ended_jobs_max;
    if (!too_many && ended_at + settings.ended_jobs_kept > cycle.state.now) return;
    cycle.emit(ForgetJob{id});
  }
}

}  // namespace dove::core
