// The pass kPurge: old ended jobs are forgotten, so that the State does not grow.
#include <vector>

#include "core/cycle/passes.h"
#include "core/state/read_ahead.h"

namespace dove::core {
namespace {

// The most jobs that are forgotten in one cycle, beside one for each decision that it has made:
// a cycle with much to do ends many jobs, and what ended must not pile up.
constexpr std::size_t kForgotten_max = 1000;

std::vector<JobId> next_of(const Indexes& indexes) {
  std::vector<JobId> next;
  for (const auto& [from, ended_at, id] : indexes.forgettable) {
    if (next.size() == ReadAhead::kJobs) break;
    next.push_back(id);
  }
  return next;
}

}  // namespace

Back purge(Cycle& cycle) {
  const Indexes& indexes = cycle.indexes;
  const ClusterSettings& settings = cycle.state.settings;
  const std::size_t most = kForgotten_max + cycle.decisions.size();
  ReadAhead read_ahead(cycle.state, true);
  for (std::size_t i = 0; i < most && !indexes.forgettable.empty(); ++i) {
    const auto [from, ended_at, id] = *indexes.forgettable.begin();
    // Oldest first, so the first that is too young ends the pass.
    const bool too_many = indexes.ended_count > settings.ended_jobs_max;
    if (!too_many && from + settings.ended_jobs_kept > cycle.state.now) return std::nullopt;
    read_ahead.before([&] { return next_of(indexes); });
    cycle.emit(ForgetJob{id, true});
  }
  return std::nullopt;
}

}  // namespace dove::core
